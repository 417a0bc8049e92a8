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

/// A dense mask (u8) that is 0 at about a quarter of the places, and dense weights (f32): quarters from 0 to 2.
io::Buffer make_mask(const Extents& shape, std::uint64_t seed);
io::Buffer make_weights(const Extents& shape, std::uint64_t seed);

}  // namespace oriel::cli
