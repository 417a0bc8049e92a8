#include "cli/sheet_text.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr std::size_t kMostName = 60, kMostNote = 120;  // letters of text from files

// The unit's symbol if it is a usual one.
std::string symbol(const std::string& unit) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 5> usual{
      {{"millimeter", "mm"}, {"micrometer", "\u00b5m"}, {"nanometer", "nm"}, {"angstrom", "\u00c5"}, {"meter", "m"}}};
  for (const auto& [name, short_name] : usual) {
    if (unit == name) return short_name;
  }
  return detail::shortened(unit, kMostName);
}

// Numbers of the axes of space, `12 x 8 x 8`; one if they are alike.
std::string of_space(const io::ome::Multiscales& image, const std::vector<double>& numbers, const char* between) {
  std::string text, first;
  bool alike = true;
  for (std::size_t d = 0; d < image.axes.size(); ++d) {
    if (image.axes[d].type != "space") continue;
    const std::string number = fmt::format("{:.6g}", numbers[d]);
    alike = alike && (text.empty() || number == first);
    if (text.empty()) first = number;
    text += (text.empty() ? "" : between) + number;
  }
  return alike ? first : text;
}

std::string axis_name(const io::ome::Multiscales& image, int axis) {
  return detail::shortened(image.axes[static_cast<std::size_t>(axis)].name, kMostName);
}

}  // namespace

double middle_of(const io::ome::Level& level, const Extents& shape, int axis) {
  const auto d = static_cast<std::size_t>(axis);
  const index_t element = shape[axis] / 2;
  return level.translation[d] + level.scale[d] * static_cast<double>(element);
}

std::string unit_of_space(const io::ome::Multiscales& image) {
  std::string one;
  for (const io::ome::Axis& axis : image.axes) {
    if (axis.type != "space") continue;
    if (axis.unit.empty() || (!one.empty() && axis.unit != one)) return "";
    one = axis.unit;
  }
  return " " + symbol(one);
}

std::string level_title(std::size_t level, const io::VolumeIn& array) {
  return fmt::format("level {}: {} {}", level, name(array.dtype), to_string(array.shape));
}

std::string level_caption(const io::ome::Multiscales& image, std::size_t level, const std::string& note,
                          std::size_t drawn_from) {
  const io::ome::Level& at = image.levels[level];
  const std::string unit = unit_of_space(image);
  std::string text = fmt::format("{}{} apart, from {}{}", of_space(image, at.scale, " x "), unit,
                                 of_space(image, at.translation, ", "), unit);
  if (!note.empty()) text += "\n" + detail::shortened(note, kMostNote);
  if (drawn_from > level) text += fmt::format("\ndrawn from level {}", drawn_from);
  return text;
}

std::string legend_text(const io::ome::Multiscales& image, const Extents& shape,
                        const std::vector<SheetPlane>& planes) {
  std::string text;
  if (planes.size() > 1) {
    for (const SheetPlane& plane : planes) {
      text += fmt::format("{}{} = {:.6g}", text.empty() ? "Planes through " : ", ", axis_name(image, plane.across),
                          middle_of(image.levels[0], shape, plane.across));
    }
    text += unit_of_space(image) + ". ";
  }
  for (int d = 0; d < shape.size(); ++d) {
    if (image.axes[static_cast<std::size_t>(d)].type == "space" || shape[d] <= 1) continue;
    text += fmt::format("First of {}. ", axis_name(image, d));
  }
  return text;
}

}  // namespace oriel::cli
