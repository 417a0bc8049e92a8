// How wide the sums of a pool must be.
#pragma once

#include "oriel/problem.h"

namespace oriel::cpu {

/// Whether sums of these integers are exact in f32, which the kernels of narrow sums need.
bool sums_narrowly(const Problem& problem);
/// Whether sums of these bytes, and their halves of divisors, are exact in 16 bits.
bool sums_in_16_bits(const Problem& problem);
/// Whether the kernels can divide by the pool's own divisor, if it has one: as f32 it is exact.
bool divides_in_vectors(const Pool& pool);

}  // namespace oriel::cpu
