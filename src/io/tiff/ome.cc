// OME-XML: the sizes and the order of T, C and Z, and which page has which plane.
#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>

#include "io/tiff/axes.h"
#include "quoted.h"

namespace oriel::io::tiff {
namespace {

constexpr std::size_t kMostXml = std::size_t{64} << 20;
constexpr index_t kMostPlanes = index_t{1} << 24;

// Planes that one element, or a file without such elements, has.
struct Data {
  index_t ifd = 0, count = -1;  // -1: as many as there are
  index_t first_t = 0, first_c = 0, first_z = 0;
  std::string uuid;
};

struct Ome {
  std::string file;
  std::string order, uuid;
  index_t t = 1, c = 1, z = 1, x = 0, y = 0;
  index_t images = 0, samples = 1;
  std::vector<Data> data;
  std::vector<AxisSpacing> spacing;
  bool in_uuid = false;
  std::string error;
  XML_Parser parser = nullptr;

  void fail(std::string text) {
    if (error.empty()) error = std::move(text);
    XML_StopParser(parser, XML_FALSE);
  }
};

using Attributes = std::map<std::string_view, std::string_view>;

index_t number(Ome& ome, const Attributes& attributes, std::string_view name, index_t otherwise, index_t least) {
  const auto at = attributes.find(name);
  if (at == attributes.end()) return otherwise;
  index_t value = 0;
  const char* const end = at->second.data() + at->second.size();
  const auto [stop, wrong] = std::from_chars(at->second.data(), end, value);
  if (wrong == std::errc() && stop == end && value >= least && value <= kMostPlanes * kMostPlanes) return value;
  ome.fail(fmt::format("{} is {}; allowed: an integer from {}", name, detail::quoted(at->second), least));
  return otherwise;
}

// Names without their namespace.
std::string_view local(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

// What is no positive number is as good as missing.
void add_spacing(Ome& ome, const Attributes& a, char axis, const std::string& name, std::string_view usual) {
  const auto at = a.find(name);
  double distance = 0;
  if (at == a.end()) return;
  const auto [end, wrong] = std::from_chars(at->second.data(), at->second.data() + at->second.size(), distance);
  if (wrong != std::errc() || end != at->second.data() + at->second.size() || !(distance > 0) ||
      !std::isfinite(distance))
    return;
  const auto unit = a.find(name + "Unit");
  ome.spacing.push_back({axis, distance, unit_of_symbol(unit == a.end() ? usual : unit->second)});
}

void begin_element(void* user, const XML_Char* full, const XML_Char** pairs) try {
  Ome& ome = *static_cast<Ome*>(user);
  Attributes a;
  for (; *pairs != nullptr; pairs += 2) a[local(pairs[0])] = pairs[1];
  const std::string_view name = local(full);
  if (name == "OME") {
    ome.uuid = a.count("UUID") > 0 ? a["UUID"] : "";
  } else if (name == "Pixels") {
    if (++ome.images > 1) return;
    ome.order = a.count("DimensionOrder") > 0 ? a["DimensionOrder"] : "";
    ome.t = number(ome, a, "SizeT", 1, 1);
    ome.c = number(ome, a, "SizeC", 1, 1);
    ome.z = number(ome, a, "SizeZ", 1, 1);
    ome.x = number(ome, a, "SizeX", 0, 1);
    ome.y = number(ome, a, "SizeY", 0, 1);
    for (const char axis : {'X', 'Y', 'Z'})
      add_spacing(ome, a, axis, std::string("PhysicalSize") + axis, ome_symbol("micrometer"));
    add_spacing(ome, a, 'T', "TimeIncrement", "s");
  } else if (name == "Channel" && ome.images == 1) {
    ome.samples = std::max(ome.samples, number(ome, a, "SamplesPerPixel", 1, 1));
  } else if (name == "TiffData" && ome.images == 1) {
    if (static_cast<index_t>(ome.data.size()) >= kMostPlanes) return ome.fail("too many TiffData");
    Data d;
    d.ifd = number(ome, a, "IFD", 0, 0);
    d.count = number(ome, a, "PlaneCount", a.count("IFD") > 0 ? 1 : -1, 0);
    d.first_t = number(ome, a, "FirstT", 0, 0);
    d.first_c = number(ome, a, "FirstC", 0, 0);
    d.first_z = number(ome, a, "FirstZ", 0, 0);
    ome.data.push_back(d);
  } else if (name == "UUID" && ome.images == 1 && !ome.data.empty()) {
    ome.in_uuid = true;
  }
} catch (const std::exception& e) {
  static_cast<Ome*>(user)->fail(e.what());
}

void end_element(void* user, const XML_Char*) { static_cast<Ome*>(user)->in_uuid = false; }

void characters(void* user, const XML_Char* text, int count) try {
  Ome& ome = *static_cast<Ome*>(user);
  if (ome.in_uuid) ome.data.back().uuid.append(text, static_cast<std::size_t>(count));
} catch (const std::exception& e) {
  static_cast<Ome*>(user)->fail(e.what());
}

void begin_doctype(void* user, const XML_Char*, const XML_Char*, const XML_Char*, int) {
  static_cast<Ome*>(user)->fail("it has a DOCTYPE, which OME-XML has not");
}

Ome parse(std::string_view xml, const std::string& file) {
  if (xml.size() > kMostXml)
    throw Error(fmt::format("{}: the OME-XML has {} MiB; allowed: at most {}", file, xml.size() >> 20, kMostXml >> 20));
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                                             &XML_ParserFree);
  Ome ome;
  ome.file = file;
  ome.parser = parser.get();
  if (!parser) throw Error(fmt::format("{}: out of memory", file));
  XML_SetUserData(parser.get(), &ome);
  XML_SetElementHandler(parser.get(), &begin_element, &end_element);
  XML_SetCharacterDataHandler(parser.get(), &characters);
  XML_SetStartDoctypeDeclHandler(parser.get(), &begin_doctype);
  const bool done = XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK;
  if (!done || !ome.error.empty())
    throw Error(fmt::format("{}: the OME-XML is damaged: {}", file,
                            ome.error.empty() ? XML_ErrorString(XML_GetErrorCode(parser.get())) : ome.error));
  return ome;
}

// Sizes of Z, C and T by their letters; C counts pages, not samples.
struct Order {
  std::string names;  // from outermost to innermost
  std::map<char, index_t> size;
};

// Places of planes, outermost axis first, of the plane with these numbers.
index_t place_of(const Order& order, std::map<char, index_t> at) {
  index_t place = 0;
  for (const char axis : order.names) place = place * order.size.at(axis) + at[axis];
  return place;
}

void fill_pages(const Ome& ome, const Order& order, index_t planes, index_t pages, Axes& axes) {
  constexpr index_t missing = -1;
  axes.pages.assign(static_cast<std::size_t>(planes), missing);
  for (const Data& d : ome.data) {
    if (!d.uuid.empty() && d.uuid != ome.uuid)
      throw Error(fmt::format("{}: planes of the OME-TIFF are in other files; allowed: all in one file", ome.file));
    index_t place = planes;
    if (d.first_t < order.size.at('T') && d.first_c < order.size.at('C') * ome.samples &&
        d.first_z < order.size.at('Z'))
      place = place_of(order, {{'T', d.first_t}, {'C', d.first_c / ome.samples}, {'Z', d.first_z}});
    const index_t count = d.count < 0 ? std::min(planes - place, pages - d.ifd) : d.count;
    if (place >= planes || d.ifd >= pages || count > planes - place || count > pages - d.ifd)
      throw Error(fmt::format("{}: the OME-XML names {} planes from image {} on, but there are {} images and {} planes",
                              ome.file, count, d.ifd + 1, pages, planes));
    for (index_t i = 0; i < count; ++i) axes.pages[static_cast<std::size_t>(place + i)] = d.ifd + i;
  }
  const auto gap = std::find(axes.pages.begin(), axes.pages.end(), missing);
  if (gap != axes.pages.end())
    throw Error(fmt::format("{}: the OME-XML names no image for plane {} of {}", ome.file, gap - axes.pages.begin() + 1,
                            planes));
}

}  // namespace

bool is_ome(std::string_view text) {
  constexpr std::size_t head = 4096;
  return text.substr(0, head).find("<OME") != std::string_view::npos &&
         (text.starts_with("<?xml") || text.starts_with("<OME"));
}

std::vector<AxisSpacing> ome_spacing(std::string_view xml, const std::string& file) { return parse(xml, file).spacing; }

Axes ome_axes(std::string_view xml, const Layout& first, index_t pages, const std::string& file) {
  const Ome ome = parse(xml, file);
  if (ome.images != 1)
    throw Error(fmt::format("{}: the OME-TIFF has {} images; allowed: 1, or one page of the file, as in FILE.tif:1",
                            file, ome.images));
  std::string sorted = ome.order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != "CTXYZ" || !ome.order.starts_with("XY"))
    throw Error(fmt::format("{}: OME's DimensionOrder is {}; allowed: XYCTZ, XYCZT, XYTCZ, XYTZC, XYZCT, XYZTC", file,
                            detail::quoted(ome.order)));
  if (ome.x != first.columns || ome.y != first.rows)
    throw Error(fmt::format("{}: the OME-XML says {}x{} pixels, but the images have {}x{}", file, ome.y, ome.x,
                            first.rows, first.columns));
  if (ome.samples != first.samples || ome.c % ome.samples != 0)
    throw Error(fmt::format("{}: the OME-XML says {} samples per pixel in {} channels, but the images have {}", file,
                            ome.samples, ome.c, first.samples));
  Order order{.names = {ome.order.rbegin(), ome.order.rbegin() + 3},
              .size = {{'T', ome.t}, {'C', ome.c / ome.samples}, {'Z', ome.z}}};
  Axes axes;
  index_t planes = 1;
  for (const char axis : order.names) {
    const index_t size = order.size[axis];
    if (__builtin_mul_overflow(planes, size, &planes) || planes > pages)
      throw Error(fmt::format("{}: the OME-XML says {} times, {} channels and {} sections, but there are {} images",
                              file, ome.t, ome.c / ome.samples, ome.z, pages));
    if (size == 1) continue;
    axes.sizes.push_back(size);
    axes.names += axis;
  }
  if (ome.data.empty())
    throw Error(fmt::format("{}: the OME-XML has no TiffData: the planes are in other files", file));
  fill_pages(ome, order, planes, pages, axes);
  return axes;
}

}  // namespace oriel::io::tiff
