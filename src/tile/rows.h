// Rows of elements as f32, vectorised by the compiler: plain loops over independent lanes.
#pragma once

#include "oriel/tile/ir.h"

namespace oriel::tile {

/// row[i] = element offset + i * stride, for i < n.
void load_row(float* row, const void* data, Dtype dtype, index_t offset, index_t stride, index_t n);
/// The other way, rounded to dtype.
void store_row(const float* row, void* data, Dtype dtype, index_t offset, index_t stride, index_t n);
/// row[i] rounded to dtype and back, and then times the factor.
void round_row(float* row, Dtype dtype, index_t n, float factor = 1);
/// Moves elements without converting them.
void copy_row(const void* from, index_t from_offset, index_t from_stride, void* to, index_t to_offset,
              index_t to_stride, index_t size, index_t n);
/// a[i] = alu(a[i], b[i]).
void apply_rows(Alu alu, float* a, const float* b, index_t n);
/// The factor that a multiplication or a division by a power of two is; else 0.
float factor_of(Alu alu, float scalar, bool scalar_first);
/// row[i] = alu(row[i], scalar), or alu(scalar, row[i]).
void apply_scalar(Alu alu, float* row, float scalar, bool scalar_first, index_t n);
/// row[i] = alu(row[i], element offset + i * stride).
void fold_row(Alu alu, float* row, const void* data, Dtype dtype, index_t offset, index_t stride, index_t n,
              float* scratch);

/// The elements that an output folds, relative to its first, in their order; outputs are `stride` elements apart.
struct FoldTaps {
  const index_t* offsets = nullptr;
  index_t taps = 0, stride = 0;
};
/// True for sums and extrema with stride 1, or stride 2 when the taps come as neighbouring pairs.
bool can_fold_taps(Alu alu, const FoldTaps& f);
/// row[i] = all taps of x + i * stride, folded. x has that dtype: f32, f16 or bf16.
void fold_taps(Alu alu, float* row, const void* x, Dtype dtype, const FoldTaps& f, index_t n);

}  // namespace oriel::tile
