#include "cpu/element/sum_width.h"

#include <algorithm>

#include "cpu/element/quotient.h"

namespace oriel::cpu {

bool sums_narrowly(const Problem& problem) {
  constexpr index_t kMostSum = index_t{1} << 23;
  return size_bytes(problem.dtype) <= 2 && problem.taps() < kMostSum >> 8 * size_bytes(problem.dtype);
}

bool sums_in_16_bits(const Problem& problem) {
  if (problem.dtype != Dtype::u8 && problem.dtype != Dtype::i8) return false;
  constexpr index_t kMostByte = 255;
  const index_t taps = problem.taps();
  return taps < ShortQuotient::kMost && ShortQuotient::holds(taps * kMostByte, std::max(taps, problem.pool.divisor));
}

bool divides_in_vectors(const Pool& pool) { return pool.divisor < index_t{1} << 24; }

}  // namespace oriel::cpu
