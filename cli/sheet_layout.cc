#include "cli/sheet_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr int kMostWidth = 1600, kMostHeight = 1200;
constexpr int kMargin = 20, kGap = 16, kBetweenPlanes = 8;
constexpr int kTitle = 34, kLegend = 52, kCaption = 72;
constexpr int kLeastCell = 215;        // pixels that a caption needs
constexpr int kLeastWidth = 560;       // of the sheet, for its title and legend
constexpr double kMostOfElement = 24;  // pixels of an element of level 0
constexpr double kBeyond = 0.25;       // of level 0's extent that is drawn beyond it on each side, if levels are there
constexpr std::size_t kMostLevels = 24;

// Planes of a level below each other, or side by side.
struct Stack {
  bool side_by_side = false;
  double width = 0, height = 0;  // physical
  int planes = 1;
};

struct Grid {
  Stack stack;
  int columns = 1;
  double pixels = 0;
};

double low_end(const io::ome::Level& level, std::size_t axis) {
  return level.translation[axis] - level.scale[axis] / 2;
}

double high_end(const io::ome::Level& level, std::size_t axis, index_t n) {
  return low_end(level, axis) + level.scale[axis] * static_cast<double>(n);
}

void find_bounds(const io::ome::Multiscales& image, const std::vector<Extents>& shapes, const std::string& file,
                 SheetLayout& s) {
  for (std::size_t axis = 0; axis < image.axes.size(); ++axis) {
    const auto d = static_cast<int>(axis);
    const double begin = low_end(image.levels[0], axis), end = high_end(image.levels[0], axis, shapes[0][d]);
    double low = begin, high = end;
    for (std::size_t l = 1; l < shapes.size(); ++l) {
      low = std::min(low, low_end(image.levels[l], axis));
      high = std::max(high, high_end(image.levels[l], axis, shapes[l][d]));
    }
    const double beyond = kBeyond * (end - begin);
    s.low.push_back(std::max(low, begin - beyond));
    s.high.push_back(std::min(high, end + beyond));
    if (image.axes[axis].type != "space") continue;
    if (std::isfinite(s.high[axis] - s.low[axis]) && s.high[axis] > s.low[axis]) continue;
    throw Error(
        fmt::format("{}: level 0 has {} elements with a scale of {} at {} along {}; a sheet can show: at least "
                    "one element, of a finite scale > 0",
                    file, shapes[0][d], image.levels[0].scale[axis], image.levels[0].translation[axis],
                    detail::printable(image.axes[axis].name)));
  }
}

std::vector<SheetPlane> planes_of(const io::ome::Multiscales& image) {
  std::vector<int> space;
  for (std::size_t d = 0; d < image.axes.size(); ++d) {
    if (image.axes[d].type == "space") space.push_back(static_cast<int>(d));
  }
  if (space.size() == 2) return {{-1, space[0], space[1]}};
  return {{space[0], space[1], space[2]}, {space[1], space[0], space[2]}, {space[2], space[0], space[1]}};
}

double extent(const SheetLayout& s, int axis) {
  return s.high[static_cast<std::size_t>(axis)] - s.low[static_cast<std::size_t>(axis)];
}

Stack stack_of(const SheetLayout& s, bool side_by_side) {
  Stack stack{.side_by_side = side_by_side, .planes = static_cast<int>(s.planes.size())};
  for (const SheetPlane& plane : s.planes) {
    const double w = extent(s, plane.right), h = extent(s, plane.down);
    stack.width = side_by_side ? stack.width + w : std::max(stack.width, w);
    stack.height = side_by_side ? std::max(stack.height, h) : stack.height + h;
  }
  return stack;
}

// Pixels of a physical unit if cells are in so many columns; 0 or less: too many for a sheet.
double pixels_of(const Stack& stack, int columns, int levels) {
  const int rows = (levels + columns - 1) / columns, between = kBetweenPlanes * (stack.planes - 1);
  const int wide = (kMostWidth - 2 * kMargin - kGap * (columns - 1)) / columns;
  const int high = (kMostHeight - kTitle - kLegend - 2 * kMargin - kGap * (rows - 1)) / rows - kCaption;
  if (wide < kLeastCell) return 0;
  const int begun = 2 * stack.planes;  // pixels at the ends of planes
  const double across = (wide - begun - (stack.side_by_side ? between : 0)) / stack.width;
  const double down = (high - begun - (stack.side_by_side ? 0 : between)) / stack.height;
  return std::min(across, down);
}

Grid best_grid(const SheetLayout& s, int levels) {
  Grid best{.stack = stack_of(s, false)};
  for (const bool side_by_side : {false, true}) {
    const Stack stack = stack_of(s, side_by_side);
    for (int columns = 1; columns <= levels; ++columns) {
      const double pixels = pixels_of(stack, columns, levels);
      if (pixels > best.pixels) best = {stack, columns, pixels};
    }
  }
  return best;
}

// Elements of level 0 get whole pixels, so that all of them look alike.
double whole_pixels(double pixels, const io::ome::Multiscales& image, const SheetLayout& s) {
  double finest = image.levels[0].scale[static_cast<std::size_t>(s.planes[0].right)];
  for (const SheetPlane& plane : s.planes) {
    finest = std::min(finest, image.levels[0].scale[static_cast<std::size_t>(plane.down)]);
  }
  const double element = pixels * finest;
  return element < 1 ? pixels : std::min(std::floor(element), kMostOfElement) / finest;
}

// Level 0 begins with a pixel.
void align(const io::ome::Multiscales& image, SheetLayout& s) {
  constexpr double rest = 1e-6;  // of a pixel, by rounding
  for (std::size_t axis = 0; axis < image.axes.size(); ++axis) {
    const double begin = low_end(image.levels[0], axis);
    s.low[axis] = begin - std::ceil((begin - s.low[axis]) * s.pixels - rest) / s.pixels;
  }
}

int pixels_along(const SheetLayout& s, int axis) {
  constexpr double rest = 1e-6;  // of a pixel, by rounding
  return std::clamp(static_cast<int>(std::ceil(extent(s, axis) * s.pixels - rest)), 1, kMostWidth);
}

SheetCell cell_at(const SheetLayout& s, const Stack& stack, int left, int top, int width) {
  SheetCell cell;
  cell.caption = {left, top, width, kCaption};
  int x = left, y = top + kCaption;
  for (const SheetPlane& plane : s.planes) {
    cell.planes.push_back({x, y, pixels_along(s, plane.right), pixels_along(s, plane.down)});
    (stack.side_by_side ? x : y) +=
        (stack.side_by_side ? cell.planes.back().width : cell.planes.back().height) + kBetweenPlanes;
  }
  return cell;
}

void place_cells(const Grid& grid, int levels, SheetLayout& s) {
  const SheetCell one = cell_at(s, grid.stack, 0, 0, 0);
  int wide = kLeastCell, high = 0;
  for (const SheetBox& box : one.planes) {
    wide = std::max(wide, box.left + box.width);
    high = std::max(high, box.top + box.height);
  }
  const int rows = (levels + grid.columns - 1) / grid.columns;
  s.width = std::max(2 * kMargin + grid.columns * (wide + kGap) - kGap, kLeastWidth);
  s.title = {kMargin, kMargin, s.width - 2 * kMargin, kTitle};
  const int top = kMargin + kTitle;
  for (int l = 0; l < levels; ++l) {
    s.cells.push_back(cell_at(s, grid.stack, kMargin + l % grid.columns * (wide + kGap),
                              top + l / grid.columns * (high + kGap), wide));
  }
  s.legend = {kMargin, top + rows * (high + kGap), s.width - 2 * kMargin, kLegend - kGap};
  s.height = s.legend.top + s.legend.height + kMargin;
}

}  // namespace

SheetLayout lay_out(const io::ome::Multiscales& image, const std::vector<Extents>& shapes, const std::string& file) {
  SheetLayout s;
  find_bounds(image, shapes, file, s);
  s.planes = planes_of(image);
  const auto levels = static_cast<int>(std::min(shapes.size(), kMostLevels));
  const Grid grid = best_grid(s, levels);
  s.pixels = whole_pixels(grid.pixels, image, s);
  if (!std::isfinite(s.pixels) || s.pixels <= 0) {
    throw Error(fmt::format("{}: level 0 is too small for a sheet, {:g} along {}; a sheet can show: at least 1e-300",
                            file, extent(s, s.planes[0].right),
                            detail::printable(image.axes[static_cast<std::size_t>(s.planes[0].right)].name)));
  }
  align(image, s);
  place_cells(grid, levels, s);
  return s;
}

}  // namespace oriel::cli
