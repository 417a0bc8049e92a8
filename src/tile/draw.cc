// Pictures of access patterns, in characters.
#include <fmt/format.h>

#include <algorithm>

#include "oriel/tensor.h"
#include "oriel/tile/machine.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

constexpr index_t kMostColumns = 48, kMostRows = 24;

std::string axes_table(const Pattern& pattern, std::size_t kept) {
  std::string text;
  for (std::size_t a = 0; a < pattern.steps.size(); ++a)
    text += fmt::format("  {:<3} [{}, {}]{}\n", a == 0 ? "P" : fmt::format("F{}", a), pattern.steps[a].stride,
                        pattern.steps[a].count, a >= kept ? "  reduced" : "");
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
                     axes_table(pattern, kept) +
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
