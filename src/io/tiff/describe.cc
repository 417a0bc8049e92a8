// Descriptions of what is written, from which other programs know the axes of its pages.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "byte_order.h"
#include "io/tiff/axes.h"

namespace oriel::io::tiff {
namespace {

// OME's name of a type; empty: it has none.
std::string_view ome_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::u8:
      return "uint8";
    case Dtype::u16:
      return "uint16";
    case Dtype::u32:
      return "uint32";
    case Dtype::i8:
      return "int8";
    case Dtype::i16:
      return "int16";
    case Dtype::i32:
      return "int32";
    case Dtype::f32:
      return "float";
    case Dtype::f64:
      return "double";
    default:
      return "";
  }
}

struct Symbol {
  std::string_view symbol, unit;
};
// The first of several symbols of a unit is that which is written.
constexpr std::array kSymbols{Symbol{"\u00b5m", "micrometer"},
                              Symbol{"nm", "nanometer"},
                              Symbol{"mm", "millimeter"},
                              Symbol{"cm", "centimeter"},
                              Symbol{"m", "meter"},
                              Symbol{"km", "kilometer"},
                              Symbol{"pm", "picometer"},
                              Symbol{"\u00c5", "angstrom"},
                              Symbol{"in", "inch"},
                              Symbol{"ft", "foot"},
                              Symbol{"s", "second"},
                              Symbol{"ms", "millisecond"},
                              Symbol{"\u00b5s", "microsecond"},
                              Symbol{"ns", "nanosecond"},
                              Symbol{"min", "minute"},
                              Symbol{"h", "hour"},
                              Symbol{"d", "day"},
                              Symbol{"\u03bcm", "micrometer"},
                              Symbol{"um", "micrometer"},
                              Symbol{"micron", "micrometer"},
                              Symbol{"microns", "micrometer"},
                              Symbol{"inch", "inch"},
                              Symbol{"sec", "second"},
                              Symbol{"\\u00B5m", "micrometer"}};

std::string spacing_attributes(const std::vector<AxisSpacing>& spacing) {
  std::string xml;
  for (const AxisSpacing& s : spacing) {
    const std::string name = s.axis == 'T' ? "TimeIncrement" : fmt::format("PhysicalSize{}", s.axis);
    // OME's lengths without a unit are micrometers; of a reference frame nothing is known.
    const std::string symbol = ome_symbol(s.unit);
    if (s.axis == 'T' && symbol.empty()) continue;
    xml += fmt::format(R"( {}="{}" {}Unit="{}")", name, s.distance, name, symbol.empty() ? "reference frame" : symbol);
  }
  return xml;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string tifffile_description(const Extents& sizes, const Layout& page) {
  std::string text = "{\"shape\": [";
  for (const index_t n : sizes) text += fmt::format("{}, ", n);
  text += fmt::format("{}, {}", page.rows, page.columns);
  if (page.samples > 1) text += fmt::format(", {}", page.samples);
  return text + "]}";
}

}  // namespace

bool has_ome_type(Dtype dtype) { return !ome_type(dtype).empty(); }

std::string ome_symbol(std::string_view unit) {
  for (const Symbol& known : kSymbols)
    if (known.unit == unit) return std::string(known.symbol);
  return "";
}

std::string unit_of_symbol(std::string_view symbol) {
  for (const Symbol& known : kSymbols)
    if (known.symbol == symbol) return std::string(known.unit);
  return "";
}

std::string describe_axes(const Extents& sizes, std::string_view names, const Layout& page, const std::string& about,
                          const std::vector<AxisSpacing>& spacing) {
  constexpr std::string_view usual = "TCZ";
  std::string known(names);
  const bool named = std::all_of(known.begin(), known.end(), [&](char c) { return usual.find(c) != usual.npos; });
  if (known.size() != static_cast<std::size_t>(sizes.size()) || !named)
    known = sizes.size() <= 3 ? usual.substr(usual.size() - static_cast<std::size_t>(sizes.size())) : "";
  const std::string_view type = ome_type(page.dtype);
  if (type.empty() || known.size() != static_cast<std::size_t>(sizes.size())) return tifffile_description(sizes, page);
  index_t t = 1, c = 1, z = 1;
  for (int d = 0; d < sizes.size(); ++d) {
    const char name = known[static_cast<std::size_t>(d)];
    (name == 'T' ? t : name == 'C' ? c : z) = sizes[d];
  }
  // Axes of size 1 are the outermost.
  for (const char name : usual)
    if (known.find(name) == std::string::npos) known.insert(known.begin(), name);
  std::string xml = fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" )"
      R"(xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" )"
      R"(xsi:schemaLocation="http://www.openmicroscopy.org/Schemas/OME/2016-06 )"
      R"(http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd"><Image ID="Image:0"><Description>{}</Description>)"
      R"(<Pixels ID="Pixels:0" DimensionOrder="XY{}{}{}" Type="{}" SizeX="{}" SizeY="{}" SizeC="{}" SizeZ="{}" )"
      R"(SizeT="{}" BigEndian="{}"{}>)",
      escaped(about), known[2], known[1], known[0], type, page.columns, page.rows, c * page.samples, z, t,
      detail::kBigEndian, spacing_attributes(spacing));
  for (index_t i = 0; i < c; ++i)
    xml += fmt::format(R"(<Channel ID="Channel:0:{}" SamplesPerPixel="{}"/>)", i, page.samples);
  return xml + fmt::format(R"(<TiffData IFD="0" PlaneCount="{}"/></Pixels></Image></OME>)", t * c * z);
}

}  // namespace oriel::io::tiff
