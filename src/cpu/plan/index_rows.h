// Rows of tap codes into what a caller counts (S10).
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

/// Where the outputs of a row stand.
struct IndexRow {
  /// One pooled axis, or a part of it.
  struct Part {
    const Axis* axis = nullptr;
    index_t in_begin = 0;  // the first of its inputs in the whole axis
    index_t output = 0;    // but along the row axis
    index_t radix = 1;     // what a tap adds to a code
  };
  std::array<Part, kMaxPooledAxes> parts;
  index_t origin = 0;  // the index of the plane's first input, of the row's first lane
  index_t lanes = 1;
};

/// Writes n positions of indices from codes of 4 or 8 bytes; the row's first one goes to `out`.
void write_index_row(const FoldJob& job, const IndexRow& row, const void* codes, index_t code_bytes, index_t n,
                     void* out);

}  // namespace oriel::cpu
