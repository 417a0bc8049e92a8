// Dense rows of 16-bit floats to f32 and back, as vector code.
#pragma once

#include "oriel/types.h"

namespace oriel::tile {

/// row[i] = x[i].
void widen_row(float* row, const half* x, index_t n);
void widen_row(float* row, const bfloat16* x, index_t n);
/// y[i] = row[i], rounded to nearest even; NaN without payload.
void narrow_row(const float* row, half* y, index_t n);
void narrow_row(const float* row, bfloat16* y, index_t n);
/// row[i] rounded, and as f32 times the factor.
void round_to_half(float* row, float factor, index_t n);
void round_to_bfloat16(float* row, float factor, index_t n);

}  // namespace oriel::tile
