// The masks and weights of problems whose names have the words mask and weights, for checks and benchmarks.
#pragma once

#include <cstdint>
#include <vector>

#include "io/array.h"
#include "oriel/problem.h"
#include "reference/reference.h"

namespace oriel::cli {

/// Whether the pool is one over valid taps (S13-S20), masks and weights included.
inline bool is_over_valid_taps(const Problem& p) { return p.has_valid_taps() || p.mask || p.weights; }

/// Dense, of x's shape; without memory if the name does not have the word.
struct Beside {
  io::Buffer mask, weights;
  std::vector<double> wide_weights;  // the same, as the reference takes them

  reference::Beside for_reference() const;
};

/// Pseudo-random ones: the same seed gives the same everywhere.
Beside make_beside(const Problem& problem, std::uint64_t seed);

}  // namespace oriel::cli
