// Pictures of access patterns, in characters.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "oriel/tensor.h"
#include "oriel/tile/machine.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

constexpr index_t kMostColumns = 48, kMostRows = 24;

std::string times(index_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 || n == -1 ? one : many);
}

// Where one step along a free axis leads, in rows and columns of the tile.
std::string step_text(index_t stride, const Extents& shape) {
  const index_t columns = shape.size() > 1 ? shape[shape.size() - 1] : 1;
  const index_t rows = shape.size() > 2 ? shape[shape.size() - 2] : 1;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " and ") + part; };
  const index_t planes = shape.size() > 3 ? stride / (rows * columns) : 0;
  stride -= planes * rows * columns;
  if (planes != 0) add(times(planes, "plane on", "planes on"));
  if (shape.size() > 2 && stride / columns != 0) add(times(stride / columns, "row down", "rows down"));
  const index_t right = shape.size() > 2 ? stride % columns : stride;
  if (right != 0) add(times(right, "column to the right", "columns to the right"));
  return text.empty() ? "the same again" : text;
}

// The axes from the longest step to the shortest, as NKI's figures count them.
std::string axes_table(const Pattern& pattern, std::size_t kept, const Extents& shape) {
  std::vector<std::size_t> order;
  for (std::size_t a = 1; a < pattern.steps.size(); ++a) order.push_back(a);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(pattern.steps[a].stride) > std::abs(pattern.steps[b].stride);
  });
  const auto row = [&](const std::string& name, const Step& step, const std::string& what) {
    return fmt::format("  {:<3} {:<10} {}\n", name, fmt::format("[{}, {}]", step.stride, step.count), what);
  };
  std::string text = row("P", pattern.steps[0], "the next partition");
  for (std::size_t f = 0; f < order.size(); ++f)
    text += row(fmt::format("F{}", f + 1), pattern.steps[order[f]],
                step_text(pattern.steps[order[f]].stride, shape) + (order[f] >= kept ? ", reduced" : ""));
  return text;
}

}  // namespace

std::string draw(const Program& program, const Instruction& i) {
  if (i.src.empty() || i.src[0].tensor < 0) return "";
  const TensorInfo& t = program.tensor(i.src[0].tensor);
  const Pattern pattern = lower(program, i, i.src[0]);
  const std::size_t kept = i.counts.size() - static_cast<std::size_t>(i.reduced);
  const index_t elements = element_count(t.shape) / t.shape[0];
  const index_t columns = t.shape.size() > 1 ? t.shape[t.shape.size() - 1] : 1, rows = elements / columns;
  std::string cells(static_cast<std::size_t>(elements), '.');
  Values begin(i.counts.size(), 0), end = i.counts;
  end[0] = 1;  // every partition is alike
  index_t output = -1;
  Values last;
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  each_index(begin, end, [&](const Values& at) {
    const Values place(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(kept));
    if (place != last) ++output;
    last = place;
    index_t flat = pattern.offset.constant;
    for (std::size_t a = 0; a < at.size(); ++a) flat += at[a] * pattern.steps[a].stride;
    if (flat < 0 || flat >= elements) return;  // the start depends on a loop
    char& cell = cells[static_cast<std::size_t>(flat)];
    cell = cell == '.' ? letters[static_cast<std::size_t>(output) % letters.size()] : '*';
  });
  std::string text = fmt::format("{} reads `{}` by {}\n", name(i.opcode), t.name, to_string(pattern, program)) +
                     axes_table(pattern, kept, t.shape) +
                     "  one partition; a letter is an output, * is read by several, . by none\n";
  for (index_t r = 0; r < std::min(rows, kMostRows); ++r) {
    text += "    ";
    for (index_t c = 0; c < std::min(columns, kMostColumns); ++c)
      text += std::string(c == 0 ? "" : " ") + cells[static_cast<std::size_t>(r * columns + c)];
    text += columns > kMostColumns ? " ...\n" : "\n";
  }
  return rows > kMostRows ? text + "    ...\n" : text;
}

}  // namespace oriel::tile
