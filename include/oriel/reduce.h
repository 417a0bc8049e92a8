// Reductions of your own: what they must have, and how the engine folds them.
#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "oriel/types.h"

namespace oriel {

/// The number of taps of a result.
struct WindowCount {
  index_t taps;    ///< taps that exist (0 for a window wholly in padding)
  index_t padded;  ///< the same plus the taps in the padding that averages count (S5)
};

/// A reduction of your own: an algebra {identity, lift, combine, lower} of static functions. Input and Output are
/// element types of Oriel (float, half, std::int32_t …); an Accumulator is copied as bytes, of which it has at most 64.
///   Accumulator identity();                             the value of an absent tap
///   Accumulator lift(Input x);                          one tap
///   Accumulator combine(Accumulator a, Accumulator b);  associative; a's taps come before b's
///   Output lower(Accumulator a, WindowCount count);     the result
/// Windows are folded axis by axis in the order of S8 (semantics.md in share/doc/oriel). The four names are those of
/// Tangwongsan et al., "General incremental sliding-window aggregation" (VLDB 2015). Example:
/// examples/user_reduction.cc.
template <class R>
concept Reduction = requires(typename R::Input x, typename R::Accumulator a, WindowCount count) {
  dtype_of<typename R::Input>::value;
  dtype_of<typename R::Output>::value;
  requires std::is_trivially_copyable_v<typename R::Accumulator>;
  requires sizeof(typename R::Accumulator) <= 64;
  { R::identity() } -> std::convertible_to<typename R::Accumulator>;
  { R::lift(x) } -> std::convertible_to<typename R::Accumulator>;
  { R::combine(a, a) } -> std::convertible_to<typename R::Accumulator>;
  { R::lower(a, count) } -> std::convertible_to<typename R::Output>;
};

namespace detail {

// A row to read: contiguous accumulators, one per independent output. The engine's own reductions may carry a second
// value per lane in `extra` (the tap code of an extremum, the number of NaN left out); `step` is what a code grows by
// for this row.
struct RowIn {
  const void* value = nullptr;
  const void* extra = nullptr;
  index_t step = 0;
};

// A row to write.
struct RowOut {
  void* value = nullptr;
  void* extra = nullptr;
};

// Elements that lie apart: (p, l) is at p*pitch + l*lane_pitch, in elements, for p < n and l < lanes.
struct ElementGrid {
  index_t n = 0;
  index_t lanes = 0;
  index_t pitch = 0;
  index_t lane_pitch = 0;
};

// A reduction of a user's with its types erased: functions of rows, made by erase().
struct ErasedReduction {
  Dtype input = Dtype::f32;
  Dtype output = Dtype::f32;
  index_t accumulator_bytes = 0;
  alignas(16) std::array<unsigned char, 64> identity{};
  // out[i] = rows[0][i] + … + rows[count-1][i] in the tree of S8, and from the left; `+` is combine.
  void (*fold_rows)(const RowIn* rows, int count, index_t n, RowOut out) = nullptr;
  void (*fold_left)(const RowIn* rows, int count, index_t n, RowOut out) = nullptr;
  // To and from accumulators, which lie densely, lanes innermost. All results of a call have one count.
  void (*lift)(const void* x, const ElementGrid& grid, void* accumulators) = nullptr;
  void (*lower)(const void* accumulators, WindowCount count, void* y, const ElementGrid& grid) = nullptr;
};

constexpr index_t floor_power_of_two(index_t k) {
  index_t m = 1;
  while (m <= k / 2) m *= 2;
  return m;
}

// The S8 tree over rows[0 .. count) at lane i.
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
void lift_grid(const void* x, const ElementGrid& grid, void* accumulators) {
  const auto* in = static_cast<const typename R::Input*>(x);
  auto* acc = static_cast<typename R::Accumulator*>(accumulators);
  for (index_t p = 0; p < grid.n; ++p) {
    for (index_t l = 0; l < grid.lanes; ++l) {
      acc[p * grid.lanes + l] = R::lift(in[p * grid.pitch + l * grid.lane_pitch]);
    }
  }
}

template <class R>
void lower_grid(const void* accumulators, WindowCount count, void* y, const ElementGrid& grid) {
  const auto* acc = static_cast<const typename R::Accumulator*>(accumulators);
  auto* out = static_cast<typename R::Output*>(y);
  for (index_t p = 0; p < grid.n; ++p) {
    for (index_t l = 0; l < grid.lanes; ++l) {
      out[p * grid.pitch + l * grid.lane_pitch] = R::lower(acc[p * grid.lanes + l], count);
    }
  }
}

template <Reduction R>
ErasedReduction erase() {
  using A = typename R::Accumulator;
  ErasedReduction r;
  r.input = dtype_v<typename R::Input>;
  r.output = dtype_v<typename R::Output>;
  r.accumulator_bytes = sizeof(A);
  const A identity = R::identity();
  std::memcpy(r.identity.data(), &identity, sizeof(A));
  r.fold_rows = &fold_rows<R>;
  r.fold_left = &fold_left<R>;
  r.lift = &lift_grid<R>;
  r.lower = &lower_grid<R>;
  return r;
}

}  // namespace detail
}  // namespace oriel
