#include "io/tiff/level_tags.h"

#include <fmt/format.h>

#include <array>

#include "io/tiff/axes.h"

namespace oriel::io::tiff {
namespace {

constexpr index_t kColours = 3;

struct Length {
  std::string_view unit;
  double centimeters;
};
constexpr std::array kLengths{Length{"picometer", 1e-10}, Length{"angstrom", 1e-8},  Length{"nanometer", 1e-7},
                              Length{"micrometer", 1e-4}, Length{"millimeter", 0.1}, Length{"centimeter", 1},
                              Length{"meter", 100},       Length{"kilometer", 1e5},  Length{"inch", 2.54},
                              Length{"foot", 30.48}};

std::uint16_t sample_format(Dtype dtype) {
  if (is_floating(dtype)) return SAMPLEFORMAT_IEEEFP;
  const bool negative = dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32 || dtype == Dtype::i64;
  return negative ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
}

void set_samples(Directory& d, const Levels& levels, const LevelPages& pages) {
  constexpr std::uint16_t bits = 8;
  const Dtype dtype = levels.codec.dtype;
  const auto samples = static_cast<std::size_t>(pages.samples);
  const std::vector<std::uint16_t> all_bits(samples, static_cast<std::uint16_t>(size_bytes(dtype) * bits)),
      all_formats(samples, sample_format(dtype));
  const std::size_t colours = levels.kept.colours ? kColours : 1;
  d.set_list(TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, std::span<const std::uint16_t>(all_bits));
  d.set_list(TIFFTAG_SAMPLEFORMAT, TIFF_SHORT, std::span<const std::uint16_t>(all_formats));
  d.set(TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, static_cast<std::uint32_t>(samples));
  d.set(TIFFTAG_PLANARCONFIG, TIFF_SHORT, pages.separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  d.set(TIFFTAG_PHOTOMETRIC, TIFF_SHORT, levels.kept.colours ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  if (samples <= colours) return;
  std::vector<std::uint16_t> kinds = levels.kept.extra_samples;
  kinds.resize(samples - colours, EXTRASAMPLE_UNSPECIFIED);
  d.set_list(TIFFTAG_EXTRASAMPLES, TIFF_SHORT, std::span<const std::uint16_t>(kinds));
}

// Pixels per centimeter if the unit is a length, else their ratio alone.
void set_resolution(Directory& d, const LevelsSpec& spec) {
  const std::size_t rank = spec.image.axes.size();
  const double x = spec.image.levels[0].scale[rank - 1], y = spec.image.levels[0].scale[rank - 2];
  const std::string& unit = spec.image.axes[rank - 1].unit;
  for (const Length& length : kLengths) {
    if (length.unit != unit || spec.image.axes[rank - 2].unit != unit) continue;
    d.set(TIFFTAG_RESOLUTIONUNIT, TIFF_SHORT, RESUNIT_CENTIMETER);
    d.set_rational(TIFFTAG_XRESOLUTION, 1 / (x * length.centimeters));
    d.set_rational(TIFFTAG_YRESOLUTION, 1 / (y * length.centimeters));
    return;
  }
  if (x == 1 && y == 1) return;
  d.set(TIFFTAG_RESOLUTIONUNIT, TIFF_SHORT, RESUNIT_NONE);
  d.set_rational(TIFFTAG_XRESOLUTION, 1 / x);
  d.set_rational(TIFFTAG_YRESOLUTION, 1 / y);
}

std::string ome_xml(const LevelsSpec& spec, const Levels& levels) {
  const LevelPages& pages = levels.pages[0];
  Extents sizes;
  std::string names;
  std::vector<AxisSpacing> spacing;
  const auto rank = static_cast<int>(spec.image.axes.size());
  for (int d = 0; d < rank; ++d) {
    const ome::Axis& axis = spec.image.axes[static_cast<std::size_t>(d)];
    const char name = static_cast<char>(axis.name[0] - 'a' + 'A');
    const bool samples = name == 'C' && pages.samples > 1;
    if (d < rank - 2 && !samples) {
      sizes.push_back(spec.levels[0].shape[d]);
      names += name;
    }
    const double distance = spec.image.levels[0].scale[static_cast<std::size_t>(d)];
    if (name != 'C' && (distance != 1 || !axis.unit.empty())) spacing.push_back({name, distance, axis.unit});
  }
  const Layout page{
      .rows = pages.rows, .columns = pages.columns, .samples = pages.samples, .dtype = levels.codec.dtype};
  return describe_axes(sizes, names, page, spec.image.description, spacing);
}

template <class T>
void set_all(Directory& d, std::uint32_t tag, TIFFDataType type, const std::vector<T>& values) {
  if (!values.empty()) d.set_list(tag, type, std::span<const T>(values));
}

void set_geo(Directory& d, const GeoTags& geo) {
  set_all(d, kPixelScale, TIFF_DOUBLE, geo.pixel_scale);
  set_all(d, kTiePoints, TIFF_DOUBLE, geo.tie_points);
  set_all(d, kTransformation, TIFF_DOUBLE, geo.transformation);
  set_all(d, kKeys, TIFF_SHORT, geo.keys);
  set_all(d, kDoubleKeys, TIFF_DOUBLE, geo.double_keys);
  if (!geo.text_keys.empty()) d.set_text(kTextKeys, geo.text_keys);
  if (!geo.metadata.empty()) d.set_text(kMetadata, geo.metadata);
}

}  // namespace

Directory level_tags(const LevelsSpec& spec, const Levels& levels, std::size_t level, index_t plane) {
  const LevelPages& pages = levels.pages[level];
  Directory d;
  d.set(TIFFTAG_SUBFILETYPE, TIFF_LONG, level > 0 ? FILETYPE_REDUCEDIMAGE : 0);
  d.set(TIFFTAG_IMAGEWIDTH, TIFF_LONG, static_cast<std::uint32_t>(pages.columns));
  d.set(TIFFTAG_IMAGELENGTH, TIFF_LONG, static_cast<std::uint32_t>(pages.rows));
  d.set(TIFFTAG_TILEWIDTH, TIFF_LONG, static_cast<std::uint32_t>(pages.tile_columns));
  d.set(TIFFTAG_TILELENGTH, TIFF_LONG, static_cast<std::uint32_t>(pages.tile_rows));
  d.set(TIFFTAG_COMPRESSION, TIFF_SHORT, levels.codec.scheme());
  if (levels.codec.predictor() != PREDICTOR_NONE) d.set(TIFFTAG_PREDICTOR, TIFF_SHORT, levels.codec.predictor());
  set_samples(d, levels, pages);
  if (!spec.nodata.empty() && !levels.ome) d.set_text(kNoData, spec.nodata);
  if (level > 0) return d;
  if (!levels.kept.icc_profile.empty())
    d.set_list(TIFFTAG_ICCPROFILE, TIFF_UNDEFINED, std::span<const std::byte>(levels.kept.icc_profile));
  if (levels.kept.geo.placed())
    set_geo(d, levels.kept.geo);
  else
    set_resolution(d, spec);
  if (levels.ome && plane == 0) d.set_text(TIFFTAG_IMAGEDESCRIPTION, ome_xml(spec, levels));
  return d;
}

}  // namespace oriel::io::tiff
