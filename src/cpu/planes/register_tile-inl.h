// The commonest windows, 2 x 2, 3 x 3, 1 x 2 and 1 x 3 by steps of 1 and 2, folded across and along in registers:
// nothing goes through memory between the two folds. Needs masks and permutations of AVX-512. Included once per target.
#if defined(ORIEL_CPU_PLANES_REGISTER_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_PLANES_REGISTER_TILE_INL_H
#undef ORIEL_CPU_PLANES_REGISTER_TILE_INL_H
#else
#define ORIEL_CPU_PLANES_REGISTER_TILE_INL_H
#endif

#include "cpu/planes/row_grid-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class P>
HWY_INLINE bool fuses(const PlaneBand& b) {
  const index_t lanes = lanes_of(hn::ScalableTag<typename P::Lane>());
  if (!has_grid<P>(b) || (b.across != b.along && b.across != 1) || b.along < 2 || b.along > 3) return false;
  if (b.stride == 1) return b.tap_pitch * (b.along - 1) < lanes;
  return b.stride == 2 && b.tap_pitch == 1 && b.lanes == 1;
}

#if ORIEL_AVX512
// One row of outputs, or two that share taps, of K taps along and as many across, or one.
template <class P, int kAcross, int K, int S, int kRows, bool kLast>
class FusedRow {
  using Grid = RowGrid<P>;
  using T = typename P::Lane;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr index_t kLanes = Grid::kLanes;
  struct Pair {
    V row[kRows];
  };

 public:
  HWY_INLINE explicit FusedRow(const PlaneBand& b) : b_(b), grid_(b) {}

  HWY_INLINE Watch<P> fold(index_t row, Watch<P> watch) const {
    const D d;
    const T* rows[kAcross + kRows - 1];
    for (int t = 0; t < kAcross; ++t) rows[t] = static_cast<const T*>(b_.taps[row * kAcross + t]) + b_.begin;
    if constexpr (kRows == 2) rows[K] = static_cast<const T*>(b_.taps[(row + 1) * K + K - 1]) + b_.begin;
    typename P::Out* y = static_cast<typename P::Out*>(b_.y) + row * b_.y_pitch;
    const auto by = divisor_of<P>(b_);
    const auto shift1 = Grid::shift(S == 1 ? b_.tap_pitch : 1), shift2 = Grid::shift(2 * b_.tap_pitch);
    Pair now = across(rows, 0, watch);
    for (index_t j = 0, c = 0; j < b_.out_elems; j += kLanes, c += S) {
      const Pair next = across(rows, c + 1, watch);
      Pair after = next;
      if constexpr (S == 2) after = across(rows, c + 2, watch);
      for (int r = 0; r < kRows; ++r) {
        V taps[3];
        if constexpr (S == 1) {
          taps[0] = now.row[r];
          taps[1] = two_tables(d, now.row[r], shift1, next.row[r]);
          if constexpr (K == 3) taps[2] = two_tables(d, now.row[r], shift2, next.row[r]);
        } else {
          taps[0] = hn::ConcatEven(d, next.row[r], now.row[r]);
          taps[1] = hn::ConcatOdd(d, next.row[r], now.row[r]);
          if constexpr (K == 3) taps[2] = two_tables(d, taps[0], shift1, after.row[r]);
        }
        const V v = P::lower(d, fold_tree<typename P::Reduce, K>(taps), b_, by, j);
        Grid::store(b_, v, j, y + r * b_.y_pitch);
      }
      now = after;
    }
    return watch;
  }

 private:
  // Vector c of the rows folded across.
  HWY_INLINE Pair across(const T* const* rows, index_t c, Watch<P>& watch) const {
    if (grid_.whole(c)) return fold_across([&](int t) HWY_ATTR { return Grid::load(rows[t], c); }, watch);
    if (!grid_.behind(c)) return fold_across([&](int t) HWY_ATTR { return grid_.load_some(rows[t], c); }, watch);
    Pair none;
    for (int r = 0; r < kRows; ++r) none.row[r] = hn::Set(D(), identity_of<P>(b_));
    return none;
  }

  template <class Load>
  static HWY_INLINE Pair fold_across(const Load& load, Watch<P>& watch) {
    const D d;
    V v[kAcross + kRows - 1];
    for (int t = 0; t < kAcross + kRows - 1; ++t) {
      v[t] = load(t);
      if (!kLast || t >= kAcross - 1) watch.see(v[t]);
      v[t] = P::lift(d, v[t]);
    }
    Pair out;
    if constexpr (kRows == 1) {
      out.row[0] = fold_tree<typename P::Reduce, kAcross>(v);
    } else {
      const V common = fold_tree<typename P::Reduce, K - 1>(v + 1);
      out.row[0] = P::Reduce::combine(v[0], common);
      out.row[kRows - 1] = P::Reduce::combine(common, v[K]);
    }
    return out;
  }

  const PlaneBand& b_;
  Grid grid_;
};
#endif

template <class P, int kAcross, int K, int S>
HWY_NOINLINE bool fold_fused(const PlaneBand& b) {
  Watch<P> watch;
#if ORIEL_AVX512
  index_t row = 0;
  const FusedRow<P, kAcross, K, S, 1, false> all(b);
  if constexpr (S == 1 && kAcross == K && !P::kTree) {
    if (b.ascends && b.rows > 1) {
      prefetch_rows(b, 0, b.ahead_bytes);
      watch = all.fold(row++, watch);
      const FusedRow<P, K, K, S, 2, true> two(b);
      for (; row + 2 <= b.rows; row += 2) {
        prefetch_rows(b, row, 2 * b.ahead_bytes);
        watch = two.fold(row, watch);
      }
    }
  }
  for (; row < b.rows; ++row) {
    prefetch_rows(b, row, b.ahead_bytes);
    watch = all.fold(row, watch);
  }
#else
  (void)b;
#endif
  return watch.found(b);
}

template <class P, int K, int S>
HWY_INLINE bool fold_fused(const PlaneBand& b) {
  return b.across == 1 ? fold_fused<P, 1, K, S>(b) : fold_fused<P, K, K, S>(b);
}

template <class P>
HWY_INLINE bool fold_fused(const PlaneBand& b) {
  if constexpr (kFuses<P>) {
    if (b.along == 2) return b.stride == 1 ? fold_fused<P, 2, 1>(b) : fold_fused<P, 2, 2>(b);
    return b.stride == 1 ? fold_fused<P, 3, 1>(b) : fold_fused<P, 3, 2>(b);
  }
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
