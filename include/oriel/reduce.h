// Reductions as algebras {identity, lift, combine, lower}, and how rows of them are folded. The built-in
// reductions have vector kernels (src/cpu); a reduction of your own becomes a RowReduction by row_reduction<R>().
#pragma once

#include <cstring>

#include "oriel/types.h"

namespace oriel {

/// A row to read: contiguous accumulators, one per independent output. Some reductions carry a second value per lane
/// in `extra` (the tap code of an extremum, the number of NaN left out); `step` is what a code grows by for this row.
struct RowIn {
  const void* value = nullptr;
  const void* extra = nullptr;
  index_t step = 0;
};

/// A row to write.
struct RowOut {
  void* value = nullptr;
  void* extra = nullptr;
};

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
  double norm = 2;    // lp
  bool omit = false;  // NaN becomes an absent tap
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
  bool fixed_divisor = false;  // `divisor` replaces all counts
  bool missing = false;        // the row's extra values count omitted NaN
  double norm = 2;             // lp

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
};

/// How many taps a result had.
struct WindowCount {
  index_t taps;     ///< taps that exist (0 for a window wholly in padding)
  index_t divisor;  ///< what an average divides by (S5)
};

namespace detail {

constexpr index_t floor_power_of_two(index_t k) {
  index_t m = 1;
  while (m <= k / 2) m *= 2;
  return m;
}

// The S8 tree over rows[0 .. count) at lane i, for any reduction.
template <class R>
typename R::Accumulator fold_tree(const RowIn* rows, index_t count, index_t i) {
  using A = typename R::Accumulator;
  const index_t m = floor_power_of_two(count);
  if (count == 1) return static_cast<const A*>(rows[0].value)[i];
  if (count == m) return R::combine(fold_tree<R>(rows, m / 2, i), fold_tree<R>(rows + m / 2, m / 2, i));
  A acc = fold_tree<R>(rows, m, i);
  for (index_t at = m; at < count;) {
    const index_t next = floor_power_of_two(count - at);
    acc = R::combine(acc, fold_tree<R>(rows + at, next, i));
    at += next;
  }
  return acc;
}

template <class R>
void fold_rows(const RowIn* rows, int count, index_t n, RowOut out) {
  for (index_t i = 0; i < n; ++i) static_cast<typename R::Accumulator*>(out.value)[i] = fold_tree<R>(rows, count, i);
}

template <class R>
void fold_left(const RowIn* rows, int count, index_t n, RowOut out) {
  using A = typename R::Accumulator;
  for (index_t i = 0; i < n; ++i) {
    A acc = static_cast<const A*>(rows[0].value)[i];
    for (int t = 1; t < count; ++t) acc = R::combine(acc, static_cast<const A*>(rows[t].value)[i]);
    static_cast<A*>(out.value)[i] = acc;
  }
}

template <class R>
void lift_row(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
              const LiftParams&) {
  const auto* in = static_cast<const typename R::Input*>(x);
  auto* acc = static_cast<typename R::Accumulator*>(out.value);
  for (index_t p = 0; p < n; ++p) {
    for (index_t l = 0; l < lanes; ++l) acc[p * lanes + l] = R::lift(in[p * pitch + l * lane_pitch]);
  }
}

template <class R>
void lower_row(RowIn row, index_t, index_t lanes, const LowerParams& params, void* y, index_t pitch,
               index_t lane_pitch) {
  const auto* acc = static_cast<const typename R::Accumulator*>(row.value);
  auto* out = static_cast<typename R::Output*>(y);
  for (const RowRun* run = params.runs; run != params.runs + params.run_count; ++run) {
    const WindowCount count{params.taps * run->taps, params.divisor_of(*run)};
    for (index_t p = run->begin; p < run->end; ++p) {
      for (index_t l = 0; l < lanes; ++l) out[p * pitch + l * lane_pitch] = R::lower(acc[p * lanes + l], count);
    }
  }
}

}  // namespace detail

/// A reduction of your own as rows. R has the types Input, Accumulator (trivially copyable, at most 64 bytes) and
/// Output (Input and Output element types of Oriel) and the static functions
///   Accumulator identity();                           what an absent tap counts as
///   Accumulator lift(Input x);                        one tap
///   Accumulator combine(Accumulator a, Accumulator b);  associative; a's taps come before b's
///   Output lower(Accumulator a, WindowCount count);   the result
/// Folded axis by axis in the order of S8. Example: examples/user_reduction.cc.
template <class R>
RowReduction row_reduction() {
  using A = typename R::Accumulator;
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= 64);
  RowReduction r;
  r.in_bytes = sizeof(typename R::Input);
  r.value_bytes = sizeof(A);
  r.out_bytes = sizeof(typename R::Output);
  const A identity = R::identity();
  std::memcpy(r.identity.data(), &identity, sizeof(A));
  r.fold = {&detail::fold_rows<R>, &detail::fold_left<R>, nullptr};
  r.lift = &detail::lift_row<R>;
  r.lower = &detail::lower_row<R>;
  return r;
}

}  // namespace oriel
