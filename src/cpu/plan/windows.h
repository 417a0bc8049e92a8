// What strategies ask about the windows of one axis.
#pragma once

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

/// Whether windows are so long, and overlap so much, that tap by tap costs more than folding at every place by
/// doubling.
inline bool slides(const Axis& axis) {
  if (axis.adaptive || axis.kernel <= kMaxFold || axis.out == 0) return false;
  const index_t doublings = 2 * static_cast<index_t>(std::bit_width(static_cast<std::uint64_t>(axis.kernel)));
  const index_t places = (axis.out - 1) * axis.stride + axis.kernel;
  return axis.kernel / doublings > places / axis.out;
}

}  // namespace oriel::cpu
