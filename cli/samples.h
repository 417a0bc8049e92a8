// Inputs for checks and benchmarks.
#pragma once

#include <cstdint>

#include "io/array.h"

namespace oriel::cli {

/// What the values are like.
enum class Sample : std::uint8_t {
  plain,   // few different numbers, so that ties are common
  special  // with NaN, infinities, both zeros and the ends of the type's range
};

/// A dense tensor of pseudo-random values; the same seed gives the same values everywhere.
io::Buffer make_sample(Dtype dtype, const Extents& shape, Sample sample, std::uint64_t seed);

}  // namespace oriel::cli
