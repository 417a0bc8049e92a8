// The strategy that takes everything: rows are folded axis by axis, whatever the reduction and the layout.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

/// RowFolder over tiles and bands of rows.
void run_rows(const FoldJob& job, int threads);

}  // namespace oriel::cpu
