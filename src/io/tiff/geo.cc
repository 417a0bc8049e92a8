#include "io/tiff/geo.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace oriel::io::tiff {
namespace {

constexpr std::size_t kTiePoint = 6, kMatrix = 16, kMatrixRow = 4, kScale = 3;

// A list of a tag that libtiff does not know: it gives a number of elements and where they are.
template <class T>
std::vector<T> list(const File& file, std::uint32_t tag, TIFFDataType type) {
  std::uint32_t count = 0;
  const void* values = nullptr;
  const TIFFField* const field = TIFFFindField(file.get(), tag, TIFF_ANY);
  if (field == nullptr || TIFFFieldDataType(field) != type || TIFFFieldPassCount(field) == 0 ||
      TIFFFieldReadCount(field) != TIFF_VARIABLE2 || TIFFGetField(file.get(), tag, &count, &values) != 1 ||
      values == nullptr)
    return {};
  const auto* const begin = static_cast<const T*>(values);
  return {begin, begin + count};
}

std::string text(const File& file, std::uint32_t tag) {
  const std::vector<char> all = list<char>(file, tag, TIFF_ASCII);
  std::string value(all.begin(), all.end());
  while (!value.empty() && value.back() == '\0') value.pop_back();
  return value;
}

// A key that is one number; 0: it is not there.
std::uint16_t key(const std::vector<std::uint16_t>& keys, std::uint16_t name) {
  constexpr std::size_t entry = 4;
  for (std::size_t at = entry; at + entry <= keys.size(); at += entry)
    if (keys[at] == name && keys[at + 1] == 0) return keys[at + 3];
  return 0;
}

// Whether raster coordinates name middles of pixels, not their upper left corners.
bool names_middles(const std::vector<std::uint16_t>& keys) {
  constexpr std::uint16_t raster_type = 1025, pixel_is_point = 2;
  return key(keys, raster_type) == pixel_is_point;
}

template <class T>
bool set(TIFF* t, std::uint32_t tag, const std::vector<T>& values) {
  return values.empty() || TIFFSetField(t, tag, static_cast<std::uint32_t>(values.size()), values.data()) == 1;
}
bool set(TIFF* t, std::uint32_t tag, const std::string& value) {
  return value.empty() || TIFFSetField(t, tag, value.c_str()) == 1;
}

}  // namespace

GeoTags read_geo(const File& file) {
  GeoTags tags{.pixel_scale = list<double>(file, kPixelScale, TIFF_DOUBLE),
               .tie_points = list<double>(file, kTiePoints, TIFF_DOUBLE),
               .transformation = list<double>(file, kTransformation, TIFF_DOUBLE),
               .keys = list<std::uint16_t>(file, kKeys, TIFF_SHORT),
               .double_keys = list<double>(file, kDoubleKeys, TIFF_DOUBLE),
               .text_keys = text(file, kTextKeys),
               .metadata = text(file, kMetadata),
               .no_data = text(file, kNoData)};
  if (tags.pixel_scale.size() < 2 || tags.pixel_scale.size() > kScale) tags.pixel_scale.clear();
  if (tags.tie_points.size() % kTiePoint != 0) tags.tie_points.clear();
  if (tags.transformation.size() != kMatrix) tags.transformation.clear();
  return tags;
}

void write_geo(TIFF* tiff, const GeoTags& tags, const std::string& file) {
  static char names[] = "GeoTIFF and GDAL";  // libtiff wants it not const, and changes nothing
  const auto list_of = [](std::uint32_t tag, TIFFDataType type) {
    return TIFFFieldInfo{tag, TIFF_VARIABLE2, TIFF_VARIABLE2, type, FIELD_CUSTOM, 1, 1, names};
  };
  const auto text_of = [](std::uint32_t tag) {
    return TIFFFieldInfo{tag, TIFF_VARIABLE, TIFF_VARIABLE, TIFF_ASCII, FIELD_CUSTOM, 1, 0, names};
  };
  const std::array fields{list_of(kPixelScale, TIFF_DOUBLE),
                          list_of(kTiePoints, TIFF_DOUBLE),
                          list_of(kTransformation, TIFF_DOUBLE),
                          list_of(kKeys, TIFF_SHORT),
                          list_of(kDoubleKeys, TIFF_DOUBLE),
                          text_of(kTextKeys),
                          text_of(kMetadata),
                          text_of(kNoData)};
  const bool done = TIFFMergeFieldInfo(tiff, fields.data(), static_cast<std::uint32_t>(fields.size())) == 0 &&
                    set(tiff, kPixelScale, tags.pixel_scale) && set(tiff, kTiePoints, tags.tie_points) &&
                    set(tiff, kTransformation, tags.transformation) && set(tiff, kKeys, tags.keys) &&
                    set(tiff, kDoubleKeys, tags.double_keys) && set(tiff, kTextKeys, tags.text_keys) &&
                    set(tiff, kMetadata, tags.metadata) && set(tiff, kNoData, tags.no_data);
  if (!done) throw Error(fmt::format("{}: cannot write the tags of GeoTIFF", file));
}

std::optional<GeoSpacing> spacing_of(const GeoTags& tags) {
  constexpr std::uint16_t model_type = 1024, projected = 1, linear_unit = 3076, meter = 9001;
  GeoSpacing spacing;
  if (!tags.pixel_scale.empty()) {
    spacing.x = tags.pixel_scale[0];
    spacing.y = tags.pixel_scale[1];
  } else if (!tags.transformation.empty()) {
    const std::vector<double>& m = tags.transformation;
    spacing.x = std::hypot(m[0], m[kMatrixRow]);
    spacing.y = std::hypot(m[1], m[kMatrixRow + 1]);
  } else {
    return std::nullopt;
  }
  if (!(spacing.x > 0) || !(spacing.y > 0) || !std::isfinite(spacing.x) || !std::isfinite(spacing.y))
    return std::nullopt;
  const std::uint16_t unit = key(tags.keys, linear_unit);
  // A projection that is named by its EPSG code alone has the code's unit, nearly always meters, but not always.
  if (key(tags.keys, model_type) == projected && unit == meter) spacing.unit = "meter";
  return spacing;
}

GeoTags scaled(GeoTags tags, const Scaling& x_of_edges, const Scaling& y_of_edges) {
  const bool middles = names_middles(tags.keys);
  const Scaling x = middles ? of_middles(x_of_edges) : x_of_edges, y = middles ? of_middles(y_of_edges) : y_of_edges;
  if (!tags.pixel_scale.empty()) {
    tags.pixel_scale[0] *= x.step;
    tags.pixel_scale[1] *= y.step;
  }
  // The same points of the model, in pixels of the result.
  for (std::size_t at = 0; at < tags.tie_points.size(); at += kTiePoint) {
    tags.tie_points[at] = (tags.tie_points[at] - x.shift) / x.step;
    tags.tie_points[at + 1] = (tags.tie_points[at + 1] - y.shift) / y.step;
  }
  for (std::size_t row = 0; row < tags.transformation.size(); row += kMatrixRow) {
    double* const m = &tags.transformation[row];
    m[3] += m[0] * x.shift + m[1] * y.shift;
    m[0] *= x.step;
    m[1] *= y.step;
  }
  return tags;
}

}  // namespace oriel::io::tiff
