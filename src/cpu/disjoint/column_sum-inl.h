// Sums of the columns of a plane, in the order of S8: vectors of columns side by side, so that rows are read as they
// lie. Included once per target.
#if defined(ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H
#undef ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H
#else
#define ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H
#endif

#include <atomic>

#include "cpu/disjoint/global_kernels.h"
#include "cpu/element/fold-inl.h"
#include "cpu/element/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kMostBits = kGlobalBits - 3;  // of a number of eights
// The hardware stops at the end of a page.
template <class X>
HWY_INLINE void prefetch_ahead(const X* x, index_t n) {
  constexpr index_t kAhead = 4096, kLine = 64;
  const char* soon = reinterpret_cast<const char*>(x) + kAhead;
  for (index_t i = 0; i < n * static_cast<index_t>(sizeof(X)); i += kLine) __builtin_prefetch(soon + i);
}

// Vectors of columns that are summed together, so that rows are read as they lie.
template <class D, int kVectors>
struct Columns {
  hn::Vec<D> v[kVectors];

  HWY_INLINE Columns() {}  // the one that g++ makes by itself is no code for Arm's vectors

  HWY_INLINE void add(const Columns& other) {
    for (int j = 0; j < kVectors; ++j) v[j] = hn::Add(v[j], other.v[j]);
  }
};

// Sums of columns that begin at `at`. Level l of the tree is pooled axis l - 1; level 0 is an element.
template <class X, class D, int kVectors>
struct ColumnSum {
  using Sums = Columns<D, kVectors>;
  const GlobalPlane& plane;
  index_t at[kVectors];

  HWY_INLINE Sums value(const X* x) const {
    Sums s;
    for (int j = 0; j < kVectors; ++j) s.v[j] = AsIs::load(D(), x + at[j]);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // row by row: so memory is read ahead
    return s;
  }

  // The tree over kN elements of level 1, kN <= 8.
  template <int kN>
  HWY_INLINE Sums few(const X* x) const {
    if constexpr (kN == 1) {
      return value(x);
    } else {
      constexpr int kM = kN == floor_power_of_two(kN) ? kN / 2 : floor_power_of_two(kN);
      Sums s = few<kM>(x);
      add_rest<kN - kM>(x + kM * plane.pitch[0], s);
      return s;
    }
  }
  // Powers of two from the largest down, added left to right.
  template <int kN>
  HWY_INLINE void add_rest(const X* x, Sums& s) const {
    constexpr int kM = floor_power_of_two(kN);
    s.add(few<kM>(x));
    if constexpr (kN > kM) add_rest<kN - kM>(x + kM * plane.pitch[0], s);
  }

  // Values that are folds themselves are added in memory, in one code for all numbers of them.
  template <int kLevel>
  HWY_NOINLINE void fold_folds(const X* x, index_t n, Sums& s) const {
    Sums v[kMaxFold];
    for (index_t t = 0; t < n; ++t) fold_apart<kLevel - 1>(x + t * plane.pitch[kLevel - 1], v[t]);
    index_t t = 0;
    for (index_t m = kMaxFold; m >= 1; m /= 2) {
      if ((n & m) == 0) continue;
      for (index_t by = 1; by < m; by *= 2) {
        for (index_t i = t; i < t + m; i += 2 * by) v[i].add(v[i + by]);
      }
      if (t == 0)
        s = v[t];
      else
        s.add(v[t]);
      t += m;
    }
  }

  template <int kLevel>
  HWY_INLINE void fold_few(const X* x, index_t n, Sums& s) const {
    if constexpr (kLevel > 1) return fold_folds<kLevel>(x, n, s);
    switch (n) {
      case 1:
        s = few<1>(x);
        return;
      case 2:
        s = few<2>(x);
        return;
      case 3:
        s = few<3>(x);
        return;
      case 4:
        s = few<4>(x);
        return;
      case 5:
        s = few<5>(x);
        return;
      case 6:
        s = few<6>(x);
        return;
      case 7:
        s = few<7>(x);
        return;
      default:
        s = few<8>(x);
    }
  }

  // Sums of eight values are joined as the bits of their number say: sum[i] is that of 8 << i.
  template <int kLevel>
  HWY_NOINLINE void fold_many(const X* x, index_t n, Sums& s) const {
    const index_t pitch = plane.pitch[kLevel - 1];
    Sums sum[kMostBits];
    for (index_t unit = 0; unit < n / 8; ++unit, x += 8 * pitch) {
      if constexpr (kLevel == 1) prefetch_ahead(x + at[0], 8 * pitch);
      Sums next;
      if constexpr (kLevel > 1)
        fold_folds<kLevel>(x, 8, next);
      else
        next = few<8>(x);
      int bit = 0;
      for (; (unit >> bit) & 1; ++bit) {
        Sums low = sum[bit];
        low.add(next);
        next = low;
      }
      sum[bit] = next;
    }
    bool first = true;
    for (int bit = kMostBits - 1; bit >= 0; --bit) {
      if (((n >> (bit + 3)) & 1) == 0) continue;
      if (first)
        s = sum[bit];
      else
        s.add(sum[bit]);
      first = false;
    }
    for (index_t m = 4; m >= 1; m /= 2) {
      if ((n & m) == 0) continue;
      Sums more;
      fold_few<kLevel>(x, m, more);
      s.add(more);
      x += m * pitch;
    }
  }

  template <int kLevel>
  HWY_NOINLINE void fold_apart(const X* x, Sums& s) const {
    const index_t n = plane.count[kLevel - 1];
    if (n > 8) return fold_many<kLevel>(x, n, s);
    fold_few<kLevel>(x, n, s);
  }
};

template <class X, int kLevels, int kVectors, class D>
HWY_INLINE void sum_vectors(D d, const X* x, const GlobalPlane& plane, index_t begin, hn::TFromD<D>* sums) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  ColumnSum<X, D, kVectors> column{plane, {}};
  for (int j = 0; j < kVectors; ++j) {  // the last vector ends with the row
    column.at[j] = HWY_MAX(0, HWY_MIN(begin + j * lanes, plane.columns - lanes));
  }
  Columns<D, kVectors> s;
  if constexpr (kLevels == 0)
    s = column.value(x);
  else
    column.template fold_apart<kLevels>(x, s);
  for (int j = 0; j < kVectors; ++j) hn::StoreU(s.v[j], d, sums + column.at[j]);
}

template <class X, int kLevels, class D>
HWY_INLINE void sum_columns(D d, const X* x, const GlobalPlane& plane, hn::TFromD<D>* sums) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  if (plane.columns <= lanes) return sum_vectors<X, kLevels, 1>(d, x, plane, 0, sums);
  index_t i = 0;
  for (; i + 2 * lanes < plane.columns; i += 4 * lanes) sum_vectors<X, kLevels, 4>(d, x, plane, i, sums);
  if (i < plane.columns) sum_vectors<X, kLevels, 2>(d, x, plane, i, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
