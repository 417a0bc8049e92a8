// A way for extrema of long windows that overlap little: each is looked through, which finds its place too.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

/// With indices, or of magnitudes, or where NaN are left out.
bool can_seek(const FoldJob& job);
bool seeking_pays(const FoldJob& job);
void run_seek(const FoldJob& job, int threads);

/// Whether values alone, which hold NaN and zeros of two signs, are looked through so.
bool takes_seek_exactly(const FoldJob& job);
/// Outputs of one plane: rows, in row-major order over the pooled axes but the row axis, and parts of them.
void seek_rows(const FoldJob& job, index_t plane, Range rows, Range along, Range lanes);

}  // namespace oriel::cpu
