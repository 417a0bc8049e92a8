// Reductions as algebras {identity, lift, combine, lower} with their types erased, and the kernels that fold rows of
// them.
#pragma once

#include "oriel/reduce.h"

namespace oriel {

using detail::RowIn;
using detail::RowOut;

/// Most rows that one FoldRows call takes; longer windows are built from such blocks in the order of S8.
inline constexpr index_t kMaxFold = 8;

/// out[i] = rows[0][i] + … + rows[count-1][i] in the tree of S8, count <= kMaxFold; `+` is the reduction's combine. The
/// output overlaps no input.
using FoldRows = void (*)(const RowIn* rows, int count, index_t n, RowOut out);
/// out[i] = ((rows[0][i] + rows[1][i]) + rows[2][i]) + …: joins the blocks of a long window.
using FoldLeft = void (*)(const RowIn* rows, int count, index_t n, RowOut out);
/// out[o] = the fold of row[2*o], …, row[2*o + kernel - 1] for o < n and 2 <= kernel <= kMaxFold. May read one element
/// past the last tap when `slack`. The code of tap t grows by t * row.step.
using FoldWindows = void (*)(RowIn row, int kernel, index_t n, RowOut out, bool slack);

struct FoldKernels {
  FoldRows fold_rows = nullptr;
  FoldLeft fold_left = nullptr;
  FoldWindows fold_windows = nullptr;  // null: windows go through fold_rows
};

struct LiftParams {
  double norm = 2;                                // lp
  bool omit = false;                              // NaN becomes an absent tap
  const detail::ErasedReduction* user = nullptr;  // whose function this is, of a user's reduction
};

/// Lifts n positions of `lanes` elements each: element (p, l) is at x + p*pitch + l*lane_pitch, in elements.
using LiftRow = void (*)(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
                         const LiftParams& params);

/// Outputs [begin, end) of a row whose windows count alike along it.
struct RowRun {
  index_t begin = 0;
  index_t end = 0;
  index_t divisor = 1;  // taps along the row that an average counts (S5)
  index_t taps = 1;     // taps along the row that exist
};

/// The taps and divisors of one row of outputs: those along the row (by runs that cover it) times those of the other
/// axes.
struct LowerParams {
  const RowRun* runs = nullptr;
  index_t run_count = 0;
  index_t divisor = 1;
  index_t taps = 1;
  bool fixed_divisor = false;                     // `divisor` replaces all counts
  bool missing = false;                           // the row's extra values count omitted NaN
  double norm = 2;                                // lp
  const detail::ErasedReduction* user = nullptr;  // whose function this is, of a user's reduction

  index_t divisor_of(const RowRun& run) const { return fixed_divisor ? divisor : divisor * run.divisor; }
};

/// Lowers n positions of `lanes` accumulators; result (p, l) goes to y + p*pitch + l*lane_pitch, in elements.
using LowerRow = void (*)(RowIn acc, index_t n, index_t lanes, const LowerParams& params, void* y, index_t pitch,
                          index_t lane_pitch);

/// True when a dense row of floats holds a NaN or, when `zeros`, a negative zero.
using ScanRow = bool (*)(const void* x, index_t n, bool zeros);

/// A reduction with its types erased: what the engine needs to fold rows of it.
struct RowReduction {
  index_t in_bytes = 0;                                  // of an element of x
  index_t value_bytes = 0;                               // of an accumulator
  index_t extra_bytes = 0;                               // of its second value; 0: none
  index_t out_bytes = 0;                                 // of an element of y
  alignas(16) std::array<unsigned char, 64> identity{};  // of value_bytes: an absent tap
  std::array<unsigned char, 8> absent_extra{};           // of extra_bytes
  FoldKernels fold;
  LiftRow lift = nullptr;    // null: a dense row of x is a row of accumulators
  LiftRow gather = nullptr;  // then: copies a row that is not dense
  LowerRow lower = nullptr;  // null: a row of accumulators is a dense row of y
  LowerRow store = nullptr;  // then: copies to a row of y that is not dense
  ScanRow scan = nullptr;    // null: every row is exact as it is
  bool scan_zeros = false;
  bool any_order = false;  // combine commutes exactly, so axes may be folded in any order
  bool counts = true;      // lower asks for taps or divisors
  LiftParams lift_params;
  bool count_include_pad = true;
  index_t divisor = 0;  // fixed divisor; 0: none
  double norm = 2;
  bool missing = false;
  const detail::ErasedReduction* user = nullptr;  // what lift and lower call, of a user's reduction
};

}  // namespace oriel
