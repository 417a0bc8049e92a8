// The rows of a backward sum: which shares an input adds, in which tree, and the kernels that add them.
#pragma once

#include "cpu/element/kinds.h"
#include "cpu/sum_gradient/share_kernels.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// The tree of S8 over the taps that exist: nibble i says how many of the last values are joined, two by two, after
/// leaf i. (a + b) + c is 0x110, a + (b + c) is 0x200.
using SumTree = std::uint64_t;
inline constexpr index_t kMostTreeLeaves = 8;
inline constexpr SumTree kTree2 = 0x10, kTreeLeft3 = 0x110, kTreeRight3 = 0x200, kTree4 = 0x2010, kTree5 = 0x12010,
                         kTree6 = 0x202010, kTree7 = 0x1202010;

/// The outputs that one input of a pool adds shares of: first, first + step … (`step` belongs to the axis).
struct SharedTaps {
  index_t first = 0;
  SumTree tree = 0;
  int count = 0;
  friend bool operator==(const SharedTaps&, const SharedTaps&) = default;
};

/// How a row of inputs is made from a row of shares.
struct Spread {
  enum class Kind : std::uint8_t {
    same,      // every input adds what the one before does, one output further
    woven,     // so does every step-th input: `taps` has one entry for each input of a period
    repeated,  // `step` inputs beside each other take one share, the first `head`
    listed,    // one entry of `taps` for each input
    runs,      // the same, and inputs beside each other have the same one: `places` are where runs end
    pairs      // at most two shares each: `places` are the first ones, then the second ones; -1: none
  };
  Kind kind = Kind::same;
  index_t step = 1;
  index_t head = 0;
  index_t input_step = 1;  // between two taps, in outputs
  index_t lanes = 1;
  index_t n = 0;  // inputs
  const SharedTaps* taps = nullptr;
  const std::int32_t* places = nullptr;
  index_t place_pitch = 0;  // from the first ones to the second ones
};

/// Rows that are written have room for kShareSlack bytes behind them, and so have rows that are read, unless said
/// otherwise.
inline constexpr index_t kShareSlack = 1024;

struct ShareKernels {
  /// out[i] = x[i] / divisor + 0.0. x has no room behind it; it may be `out` when `roomy`.
  void (*divide)(const void* x, index_t n, double divisor, bool roomy, void* out) = nullptr;
  /// out[i] = x[i] / (factor * divisors[i]), the same but that a quotient of -0.0 may stay.
  void (*divide_each)(const void* x, const void* divisors, double factor, index_t n, bool roomy, void* out) = nullptr;
  /// out[i] = dy[i] / y[i], 0 where y[i] is 0. Rows have no room behind them, here and in `scale`.
  void (*root_shares)(const void* dy, const void* y, index_t n, void* out) = nullptr;
  /// out[i] = the tree over rows[t][i].
  void (*add)(const void* const* rows, int count, SumTree tree, index_t n, void* out) = nullptr;
  /// out = the sums over shares (element 0 is output 0's), + 0.0. `scratch` has room for `step` rows of n inputs,
  /// `scratch_pitch` bytes apart.
  void (*spread)(const Spread& how, const void* shares, void* scratch, index_t scratch_pitch, void* out) = nullptr;
  /// out[i] = sums[i] * sign(x[i]) |x[i]|^(p-1), 0 where x[i] is a NaN and they are left out. `out` is another row.
  void (*scale)(const void* sums, const void* x, index_t n, double p, bool omit, void* out) = nullptr;
};

/// The kernels of one instruction set.
struct ShareTable {
  ShareKernels (*shares)(Lane lane) = nullptr;  // i64, f32, f64
};

/// The table of the instruction set in use.
const ShareTable& share_table();

}  // namespace oriel::cpu
