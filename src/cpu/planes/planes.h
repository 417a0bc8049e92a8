// A way of folding values: planes whose rows are runs of memory, in small windows.
#pragma once

#include "cpu/rows/rows.h"

namespace oriel::cpu {

bool can_planes(const FoldJob& job);
bool planes_pay(const FoldJob& job);
void run_planes(const FoldJob& job, int threads);

/// Whether some window of the axis has no tap at all.
bool has_empty_window(const Axis& axis);
/// Whether sums of these integers are exact in f32, which the kernels of narrow sums need.
bool sums_narrowly(const Problem& problem);
/// Whether sums of these bytes, and their halves of divisors, are exact in 16 bits.
bool sums_in_16_bits(const Problem& problem);
/// Whether the kernels can divide by the pool's own divisor, if it has one: as f32 it is exact.
bool divides_in_vectors(const Pool& pool);

}  // namespace oriel::cpu
