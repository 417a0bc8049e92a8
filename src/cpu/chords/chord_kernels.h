// Rows of keys, unsigned integers in the order of the elements, or in the reverse order, of which maxima are taken.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// How elements become keys. A NaN is the greatest key, both zeros are one.
struct KeyRule {
  Dtype dtype = Dtype::u8;
  bool least = false;  // the order is reversed: for minima
};

/// keys[i] = the key of x[i]. True if there is a negative zero.
using LiftKeys = bool (*)(const void* x, index_t n, const KeyRule& rule, void* keys);
/// The inverse; zeros are positive.
using LowerKeys = void (*)(const void* keys, index_t n, const KeyRule& rule, void* y);
/// to[i] = the greater of from[i] and from[i + move].
using DoubleKeys = void (*)(const void* from, index_t move, index_t n, void* to);
/// out[i] = the greatest of rows[r][i] for r < count, which is at least 1.
using MaxKeys = void (*)(const void* const* rows, index_t count, index_t n, void* out);

struct ChordKernels {
  LiftKeys lift = nullptr;
  LowerKeys lower = nullptr;
  DoubleKeys twice = nullptr;
  MaxKeys max = nullptr;
};

/// The kernels of the instruction set in use.
ChordKernels chord_kernels(Dtype dtype);

/// The key of no tap at all: of the lowest value, or of the highest in the reverse order.
void store_no_key(const KeyRule& rule, void* key);

/// y[i] = high[i] - low[i], rounded or saturated, for n elements of a dtype.
void subtract_elements(const void* high, const void* low, Dtype dtype, index_t n, void* y);

}  // namespace oriel::cpu
