#include "io/tiff/space.h"

#include <cmath>

#include "io/tiff/geo.h"
#include "io/tiff/volume_in.h"

namespace oriel::io {
namespace {

using tiff::AxisSpacing;
using tiff::File;
using tiff::TiffIn;

struct Resolution {
  double across = 0, down = 0;  // distances of pixels; 0: not said
  std::uint16_t unit = RESUNIT_NONE;
};

Resolution resolution_of(const File& file) {
  Resolution found;
  const auto distance = [&](std::uint32_t tag) {
    const double per_unit = static_cast<double>(file.field<float>(tag, 0));
    return per_unit > 0 && std::isfinite(per_unit) ? 1 / per_unit : 0;
  };
  found.across = distance(TIFFTAG_XRESOLUTION);
  found.down = distance(TIFFTAG_YRESOLUTION);
  found.unit = file.field<std::uint16_t>(TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
  return found;
}

// A float that a rational became has seven digits.
double seven_digits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 6);
  return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

std::vector<AxisSpacing> spacing_of(const File& file) {
  const std::string text = file.text(TIFFTAG_IMAGEDESCRIPTION);
  if (tiff::is_ome(text)) return tiff::ome_spacing(text, file.name());
  const Resolution r = resolution_of(file);
  if (tiff::is_imagej(text))
    return tiff::imagej_spacing(text, r.across > 0 ? seven_digits(r.across) : 0, r.down > 0 ? seven_digits(r.down) : 0);
  if (const auto geo = tiff::spacing_of(tiff::read_geo(file)))
    return {{'X', geo->x, geo->unit}, {'Y', geo->y, geo->unit}};
  if (r.across == 0 || r.down == 0 || (r.unit != RESUNIT_INCH && r.unit != RESUNIT_CENTIMETER)) return {};
  const double micrometers = r.unit == RESUNIT_INCH ? 25400 : 10000;
  return {{'X', seven_digits(r.across * micrometers), "micrometer"},
          {'Y', seven_digits(r.down * micrometers), "micrometer"}};
}

}  // namespace

std::optional<TiffSpace> tiff_space(VolumeIn& in) {
  auto* const file = dynamic_cast<TiffIn*>(&in);
  if (file == nullptr && !in.picture) return std::nullopt;
  TiffSpace space;
  std::string names = file != nullptr ? file->axes().names : "";
  names += "yx";
  if (static_cast<int>(names.size()) < in.shape.size()) names += 'c';
  for (const char c : names)
    space.axes.push_back({.name = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c});
  if (file == nullptr) return space;
  const File& page = file->first_page();
  for (const AxisSpacing& s : spacing_of(page))
    for (TiffSpace::Axis& axis : space.axes) {
      if (axis.name != static_cast<char>(s.axis - 'A' + 'a')) continue;
      axis.spacing = s.distance;
      axis.unit = s.unit;
    }
  space.nodata = tiff::read_geo(page).no_data;
  while (space.nodata.ends_with(' ')) space.nodata.pop_back();
  return space;
}

}  // namespace oriel::io
