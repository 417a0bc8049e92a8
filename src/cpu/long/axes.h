// A way for long windows across rows, whatever is folded: one axis after the other over all places, by doubling, so
// that n places take n log k combinations and not n k.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool axes_pay(const FoldJob& job);
void run_axes(const FoldJob& job, int threads);

/// Whether NaN, and zeros of two signs, are folded so too, of values alone: where there are windows so long across rows
/// that RowFolder would take too long.
bool takes_axes_exactly(const FoldJob& job);
/// Outputs of one plane: rows, in row-major order over the pooled axes but the row axis, and parts of them.
void fold_axes_exactly(const FoldJob& job, index_t plane, Range rows, Range along, Range lanes);

}  // namespace oriel::cpu
