// From exchanges of values to those of rows: what nobody needs is left out, and a few exchanges that hand values to
// each other become one step.
#pragma once

#include <span>
#include <vector>

#include "cpu/networks/selection.h"

namespace oriel::cpu {

/// A value, read so many lanes further. Inputs are the first nodes.
struct Ref {
  std::uint32_t node = 0;
  std::uint32_t shift = 0;
};

/// The lesser and the greater of a and b: nodes inputs + 2 e and inputs + 2 e + 1 of exchange e.
struct Pair {
  Ref a, b;
};

Selection schedule(std::uint32_t inputs, std::span<const Pair> pairs, std::span<const Ref> results);

}  // namespace oriel::cpu
