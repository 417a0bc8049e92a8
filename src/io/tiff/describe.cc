// Descriptions of what is written, from which other programs know the axes of its pages.
#include <fmt/format.h>

#include <algorithm>

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

std::string describe_axes(const Extents& sizes, std::string_view names, const Layout& page, const std::string& about) {
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
      R"(SizeT="{}" BigEndian="false">)",
      escaped(about), known[2], known[1], known[0], type, page.columns, page.rows, c * page.samples, z, t);
  for (index_t i = 0; i < c; ++i)
    xml += fmt::format(R"(<Channel ID="Channel:0:{}" SamplesPerPixel="{}"/>)", i, page.samples);
  return xml + fmt::format(R"(<TiffData IFD="0" PlaneCount="{}"/></Pixels></Image></OME>)", t * c * z);
}

}  // namespace oriel::io::tiff
