// What strategies ask about the windows of one axis, and the windows by their kinds.
#pragma once

#include <array>
#include <bit>

#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

/// Whether some window has no tap at all.
inline bool has_empty_window(const Axis& axis) {
  const Range full = axis.full();
  for (index_t o = 0; o < axis.out; ++o) {
    if (full.contains(o))
      o = full.end - 1;
    else if (axis.taps(o).empty())
      return true;
  }
  return false;
}

/// Whether uniform windows of taps beside each other share no input.
inline bool shares_no_input(const Axis& axis) {
  return !axis.adaptive && axis.dilation == 1 && axis.stride >= axis.kernel;
}

/// Whether windows are so long, and overlap so much, that tap by tap costs more than folding at every place by
/// doubling.
inline bool slides(const Axis& axis) {
  if (axis.adaptive || axis.kernel <= kMaxFold || axis.out == 0) return false;
  const index_t doublings = 2 * static_cast<index_t>(std::bit_width(static_cast<std::uint64_t>(axis.kernel)));
  const index_t places = (axis.out - 1) * axis.stride + axis.kernel;
  return axis.kernel / doublings > places / axis.out;
}

/// Outputs whose windows have as many taps and one divisor: from begin to end of an order.
struct WindowKind {
  index_t taps, divisor, begin, end;
};

/// The kinds of an axis's windows; none if a window has padding or there are too many kinds.
struct WindowKinds {
  std::array<WindowKind, 8> kind{};
  index_t count = 0;
  index_t* order = nullptr;   ///< outputs, one kind after the other; room for all of them
  index_t* starts = nullptr;  ///< the first inputs of their windows

  void find(const Axis& axis, bool count_include_pad) {
    count = 0;
    index_t found = 0;
    std::array<index_t, std::tuple_size_v<decltype(kind)>> next{};
    const auto kind_of = [&](index_t o) {
      const index_t taps = axis.taps(o).size(), divisor = axis.divisor(o, count_include_pad);
      std::size_t k = 0;
      while (k < static_cast<std::size_t>(found) && (kind[k].taps != taps || kind[k].divisor != divisor)) ++k;
      if (k == static_cast<std::size_t>(found) && k < kind.size()) {
        kind[k] = {taps, divisor, 0, 0};
        ++found;
      }
      return k;
    };
    for (index_t o = 0; o < axis.out; ++o) {
      const std::size_t k = axis.taps(o).size() == axis.width(o) ? kind_of(o) : kind.size();
      if (k >= kind.size()) return;
      ++kind[k].end;
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(found); ++k) {
      kind[k].begin = next[k] = k == 0 ? 0 : kind[k - 1].end;
      kind[k].end += kind[k].begin;
    }
    for (index_t o = 0; o < axis.out; ++o) {
      index_t& place = next[kind_of(o)];
      starts[place] = axis.input_at(axis.at(o, 0));
      order[place++] = o;
    }
    count = found;
  }
};

}  // namespace oriel::cpu
