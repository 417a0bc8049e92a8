// Five or seven taps that step by one, folded in registers: windows of two taps make those of four, and those the
// whole ones. Included once per target.
#if defined(ORIEL_CPU_PLANES_PLANE_DOUBLED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_PLANES_PLANE_DOUBLED_INL_H
#undef ORIEL_CPU_PLANES_PLANE_DOUBLED_INL_H
#else
#define ORIEL_CPU_PLANES_PLANE_DOUBLED_INL_H
#endif

#include "cpu/planes/row_grid-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class P>
HWY_INLINE bool doubles(const PlaneBand& b) {
  return has_grid<P>(b) && (b.along == 5 || b.along == 7) && (b.across == b.along || b.across == 1) && b.stride == 1 &&
         b.tap_pitch * (b.along - 1) < lanes_of(PlaneTag<P>());
}

#if ORIEL_AVX512
// kRows rows of outputs of K taps along and kAcross across; where there are several, each row's taps begin one later.
// Where kLast, all rows of inputs but the last kRows are watched already.
template <class P, int kAcross, int K, int kRows, bool kLast>
class DoubledRows {
  using Grid = RowGrid<P>;
  using T = typename P::Lane;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using R = typename P::Reduce;
  static constexpr int kInputs = kAcross + kRows - 1;
  struct Vectors {
    V row[kRows];
  };

 public:
  HWY_INLINE explicit DoubledRows(const PlaneBand& b) : b_(b), grid_(b) {}

  HWY_INLINE Watch<P> fold(index_t row, Watch<P> watch) const {
    const D d;
    const T* rows[kInputs];
    for (int t = 0; t < kInputs; ++t) {
      const index_t r = t < kAcross ? row * kAcross + t : (row + t - kAcross + 1) * kAcross + kAcross - 1;
      rows[t] = static_cast<const T*>(b_.taps[r]) + b_.begin;
    }
    typename P::Out* y = static_cast<typename P::Out*>(b_.y) + row * b_.y_pitch;
    const auto by = divisor_of<P>(b_);
    const auto by1 = Grid::shift(b_.tap_pitch), by2 = Grid::shift(2 * b_.tap_pitch),
               by4 = Grid::shift(4 * b_.tap_pitch), by6 = Grid::shift(6 * b_.tap_pitch);
    // One vector later than the taps that it holds alone, windows of two are known in the next vector as well.
    Vectors one = across(rows, 0, watch), next = across(rows, 1, watch), two;
    for (int r = 0; r < kRows; ++r) two.row[r] = R::combine(one.row[r], two_tables(d, one.row[r], by1, next.row[r]));
    for (index_t j = 0, c = 2; j < b_.out_elems; j += Grid::kLanes, ++c) {
      const Vectors after = across(rows, c, watch);
      for (int r = 0; r < kRows; ++r) {
        const V next_two = R::combine(next.row[r], two_tables(d, next.row[r], by1, after.row[r]));
        V v = R::combine(two.row[r], two_tables(d, two.row[r], by2, next_two));
        if constexpr (K == 7) v = R::combine(v, two_tables(d, two.row[r], by4, next_two));
        v = R::combine(v, two_tables(d, one.row[r], K == 7 ? by6 : by4, next.row[r]));
        Grid::store(b_, P::lower(d, v, b_, by, j), j, y + r * b_.y_pitch);
        two.row[r] = next_two;
      }
      one = next;
      next = after;
    }
    return watch;
  }

 private:
  // Vector c of the rows folded across.
  HWY_INLINE Vectors across(const T* const* rows, index_t c, Watch<P>& watch) const {
    if (grid_.whole(c)) return fold_across([&](int t) HWY_ATTR { return Grid::load(rows[t], c); }, watch);
    if (!grid_.behind(c)) return fold_across([&](int t) HWY_ATTR { return grid_.load_some(rows[t], c); }, watch);
    Vectors none;
    for (int r = 0; r < kRows; ++r) none.row[r] = hn::Set(D(), identity_of<P>(b_));
    return none;
  }

  template <class Load>
  static HWY_INLINE Vectors fold_across(const Load& load, Watch<P>& watch) {
    V v[kInputs];
    for (int t = 0; t < kInputs; ++t) {
      v[t] = load(t);
      if (!kLast || t >= kAcross - 1) watch.see(v[t]);
      v[t] = P::lift(D(), v[t]);
    }
    return fold_across(v);
  }
  static HWY_INLINE Vectors fold_across(const V* v) {
    Vectors out;
    if constexpr (kRows == 1) {
      out.row[0] = fold_tree<R, kAcross>(v);
    } else if constexpr (!P::kTree) {
      const V common = fold_tree<R, kAcross - kRows + 1>(v + kRows - 1);
      V before = common, behind = v[kAcross];
      for (int r = kRows - 1; r > 0; --r) {
        out.row[r] = before;
        before = R::combine(v[r - 1], before);
      }
      out.row[0] = before;
      for (int r = 1; r < kRows; ++r) {
        if (r > 1) behind = R::combine(behind, v[kAcross + r - 1]);
        out.row[r] = R::combine(out.row[r], behind);
      }
    } else {
      V two[kInputs - 1];
      for (int t = 0; t + 1 < kInputs; ++t) two[t] = R::combine(v[t], v[t + 1]);
      for (int r = 0; r < kRows; ++r) {
        V sum = R::combine(two[r], two[r + 2]);
        if constexpr (kAcross == 7) sum = R::combine(sum, two[r + 4]);
        out.row[r] = R::combine(sum, v[r + kAcross - 1]);
      }
    }
    return out;
  }

  const PlaneBand& b_;
  Grid grid_;
};
#endif

template <class P, int kAcross, int K>
HWY_NOINLINE bool fold_doubled(const PlaneBand& b) {
  Watch<P> watch;
#if ORIEL_AVX512
  index_t row = 0;
  const DoubledRows<P, kAcross, K, 1, false> all(b);
  if constexpr (kAcross == K) {
    constexpr int kRows = 4;
    if (b.ascends && b.rows > kRows) {
      prefetch_rows(b, 0, b.ahead_bytes);
      watch = all.fold(row++, watch);
      const DoubledRows<P, kAcross, K, kRows, true> some(b);
      for (; row + kRows <= b.rows; row += kRows) {
        prefetch_rows(b, row, kRows * b.ahead_bytes);
        watch = some.fold(row, watch);
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

template <class P>
HWY_INLINE bool fold_doubled(const PlaneBand& b) {
  if constexpr (kFuses<P>) {
    if (b.along == 5) return b.across == 1 ? fold_doubled<P, 1, 5>(b) : fold_doubled<P, 5, 5>(b);
    return b.across == 1 ? fold_doubled<P, 1, 7>(b) : fold_doubled<P, 7, 7>(b);
  }
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
