#include "io/tiff/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "quoted.h"

namespace oriel::io::tiff {
namespace {

void add(Axes& axes, char name, index_t size) {
  if (size == 1) return;
  axes.sizes.push_back(size);
  axes.names += name;
}

// What ImageJ writes as `name=3` in a line of its own; empty if it is not there.
std::string_view imagej_text(std::string_view text, std::string_view name) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=')
      return line.substr(name.size() + 1);
  }
  return "";
}

index_t imagej_number(std::string_view text, std::string_view name) {
  const std::string_view number = imagej_text(text, name);
  index_t value = 1;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return std::max<index_t>(value, 1);
}

double imagej_real(std::string_view text, std::string_view name) {
  const std::string_view number = imagej_text(text, name);
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value > 0 && std::isfinite(value) ? value : 0;
}

// ImageJ writes the directories of all images, or, above 4 GB, that of the first.
Axes imagej_axes(std::string_view text, index_t pages, const std::string& file) {
  const index_t images = imagej_number(text, "images");
  const std::array<std::pair<char, index_t>, 3> parts{{{'T', imagej_number(text, "frames")},
                                                       {'Z', imagej_number(text, "slices")},
                                                       {'C', imagej_number(text, "channels")}}};
  if (images != pages && pages != 1)
    throw Error(fmt::format("{}: ImageJ's description says {} images, but there are {}", file, images, pages));
  Axes axes;
  axes.in_one_page = images > 1 && pages == 1;
  index_t product = 1;
  for (const auto& [name, size] : parts)
    if (__builtin_mul_overflow(product, size, &product)) product = -1;
  if (product == images) {
    for (const auto& [name, size] : parts) add(axes, name, size);
  } else {
    add(axes, 'I', images);
  }
  return axes;
}

// `{"shape": [4, 3, 20, 17]}`, as tifffile writes it. Nothing if it says something else.
std::optional<Axes> tifffile_axes(std::string_view text, const Layout& first, index_t pages, const std::string& file) {
  constexpr std::size_t most = 1 << 16;
  if (text.size() > most) return std::nullopt;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("shape") || !json["shape"].is_array()) return std::nullopt;
  Extents shape;
  for (const auto& n : json["shape"]) {
    if (!n.is_number_unsigned() || n.get<std::uint64_t>() > (std::uint64_t{1} << 40) || n.get<std::uint64_t>() == 0)
      return std::nullopt;
    if (shape.size() == kMaxRank) return std::nullopt;
    shape.push_back(static_cast<index_t>(n.get<std::uint64_t>()));
  }
  // Its last axes are those of a page.
  Extents page =
      first.separate ? Extents{first.samples, first.rows, first.columns} : Extents{first.rows, first.columns};
  if (first.samples > 1 && !first.separate) page.push_back(first.samples);
  const int outer = shape.size() - page.size();
  if (outer < 0 || !std::equal(page.begin(), page.end(), shape.begin() + outer)) return std::nullopt;
  Axes axes;
  index_t planes = 1;
  for (int d = 0; d < outer; ++d) {
    if (__builtin_mul_overflow(planes, shape[d], &planes)) return std::nullopt;
    add(axes, 'I', shape[d]);
  }
  if (planes != pages && pages != 1)
    throw Error(
        fmt::format("{}: the description says the shape {}, but there are {} images", file, to_string(shape), pages));
  axes.in_one_page = planes > 1 && pages == 1;
  return axes;
}

}  // namespace

bool is_imagej(std::string_view text) { return text.starts_with("ImageJ="); }

std::vector<AxisSpacing> imagej_spacing(std::string_view text, double across, double down) {
  std::vector<AxisSpacing> spacing;
  const std::string unit = unit_of_symbol(imagej_text(text, "unit"));
  if (across > 0) spacing.push_back({'X', across, unit});
  if (down > 0) spacing.push_back({'Y', down, unit});
  if (const double z = imagej_real(text, "spacing"); z > 0) spacing.push_back({'Z', z, unit});
  if (const double t = imagej_real(text, "finterval"); t > 0) spacing.push_back({'T', t, "second"});
  return spacing;
}

Axes find_axes(std::string_view text, const Layout& first, index_t pages, const std::string& file) {
  if (is_ome(text)) return ome_axes(text, first, pages, file);
  if (is_imagej(text)) return imagej_axes(text, pages, file);
  if (text.starts_with('{'))
    if (auto axes = tifffile_axes(text, first, pages, file)) return *axes;
  Axes axes;
  add(axes, 'I', pages);
  return axes;
}

}  // namespace oriel::io::tiff
