// Sums of the columns of a plane, in the order of S8: vectors of columns side by side, so that rows are read as they
// lie. Included once per target.
#if defined(ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H
#undef ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H
#else
#define ORIEL_CPU_DISJOINT_COLUMN_SUM_INL_H
#endif

#include <atomic>
#include <bit>
#include <type_traits>

#include "cpu/disjoint/global_kernels.h"
#include "cpu/element/fold-inl.h"
#include "cpu/element/load-inl.h"
#include "cpu/simd/stream.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kMostBits = kGlobalBits - 3;  // of a number of eights
// Vectors that are summed side by side: of a tree of eight rows registers hold four of each.
constexpr int kSideBySide = HWY_ARCH_X86 && !ORIEL_AVX512 ? 3 : 4;

// The hardware stops at the end of a page.
template <class X>
HWY_INLINE void prefetch_ahead(const X* x, index_t n) {
  constexpr index_t kAhead = 4096, kLine = 64;  // bytes
  const char* from = reinterpret_cast<const char*>(x) + kAhead;
  for (index_t i = 0; i < n * static_cast<index_t>(sizeof(X)); i += kLine) __builtin_prefetch(from + i);
}

// GCC adds where a sum is used, the last of a tree's sums, and keeps what it is of on the stack until then.
template <class V>
HWY_INLINE V add_now(V a, V b) {
  V sum = hn::Add(a, b);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4 && HWY_COMPILER_GCC_ACTUAL
  auto raw = sum.raw;
  asm("" : "+v"(raw));
  sum = V{raw};
#endif
  return sum;
}

// The highest bit of n / 8.
HWY_INLINE int top_unit(index_t n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n / 8))) - 1; }

// Vectors of columns that are summed together, so that rows are read as they lie.
template <class D, int kVectors>
struct Columns {
  hn::Vec<D> v[kVectors];

  HWY_INLINE Columns() {}  // the one that g++ makes by itself is no code for Arm's vectors

  HWY_INLINE void add(const Columns& other) {
    for (int j = 0; j < kVectors; ++j) v[j] = add_now(v[j], other.v[j]);
  }
};

// Sums of columns that begin at `at`. Level l of the tree is pooled axis l - 1; level 0 is an element.
template <class X, class D, int kVectors>
struct ColumnSum {
  using Sums = Columns<D, kVectors>;
  const GlobalPlane& plane;
  index_t pitch;  // of level 1: read once, where the plane would be read again for each row
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
      add_rest<kN - kM>(x + kM * pitch, s);
      return s;
    }
  }
  // Powers of two from the largest down, added left to right.
  template <int kN>
  HWY_INLINE void add_rest(const X* x, Sums& s) const {
    constexpr int kM = floor_power_of_two(kN);
    s.add(few<kM>(x));
    if constexpr (kN > kM) add_rest<kN - kM>(x + kM * pitch, s);
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
    const index_t eight = 8 * plane.pitch[kLevel - 1];
    const ColumnSum here = *this;  // in registers
    Sums sum[kMostBits];
    for (index_t unit = 0; unit < n / 8; ++unit, x += eight) {
      if constexpr (kLevel == 1) prefetch_ahead(x + here.at[0], eight);
      Sums next;
      if constexpr (kLevel > 1)
        fold_folds<kLevel>(x, 8, next);
      else
        next = here.template few<8>(x);
      int bit = 0;
      for (; (unit >> bit) & 1; ++bit) {
        Sums low = sum[bit];
        low.add(next);
        next = low;
      }
      sum[bit] = next;
    }
    int bit = top_unit(n);
    s = sum[bit];
    while (--bit >= 0) {
      if ((n >> (bit + 3)) & 1) s.add(sum[bit]);
    }
    add_last<kLevel>(x, n, s);
  }

  // The last n % 8 of n values.
  template <int kLevel>
  HWY_INLINE void add_last(const X* x, index_t n, Sums& s) const {
    for (index_t m = 4; m >= 1; m /= 2) {
      if ((n & m) == 0) continue;
      Sums more;
      fold_few<kLevel>(x, m, more);
      s.add(more);
      x += m * plane.pitch[kLevel - 1];
    }
  }

  template <int kLevel>
  HWY_NOINLINE void fold_apart(const X* x, Sums& s) const {
    const index_t n = plane.count[kLevel - 1];
    if (n > 8) return fold_many<kLevel>(x, n, s);
    fold_few<kLevel>(x, n, s);
  }
};

// The columns that are summed together, from `begin` on.
template <class X, int kVectors, class D>
HWY_INLINE ColumnSum<X, D, kVectors> columns_at(D d, const GlobalPlane& plane, index_t begin) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  ColumnSum<X, D, kVectors> column{plane, plane.pitch[0], {}};
  for (int j = 0; j < kVectors; ++j) {  // the last vector ends with the row
    column.at[j] = HWY_MAX(0, HWY_MIN(begin + j * lanes, plane.columns - lanes));
  }
  return column;
}

// Calls f for all columns, with some vectors of them at a time.
template <class X, class D, class F>
HWY_INLINE void for_columns(D d, const GlobalPlane& plane, const F& f) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  if (plane.columns <= lanes) return f(columns_at<X, 1>(d, plane, 0));
  for (index_t i = 0, left; (left = plane.columns - i) > 0;) {
    const bool two = left <= 2 * lanes || (kSideBySide == 3 && left > 3 * lanes && left <= 4 * lanes);
    if (two)
      f(columns_at<X, 2>(d, plane, i));
    else
      f(columns_at<X, kSideBySide>(d, plane, i));
    i += (two ? 2 : kSideBySide) * lanes;
  }
}

template <class D, int kVectors, class A>
HWY_INLINE void store_columns(D d, const Columns<D, kVectors>& s, const index_t* at, A* sums) {
  for (int j = 0; j < kVectors; ++j) hn::StoreU(s.v[j], d, sums + at[j]);
}

// Calls f with where each vector of a row begins; the last ends with the row.
template <class D, class F>
HWY_INLINE void for_vectors(D d, index_t row, const F& f) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + lanes <= row; i += lanes) f(i);
  if (i < row) f(HWY_MAX(0, row - lanes));
}

// How far apart rows of accumulators lie, so that the vectors of one do not reach the next.
template <class D>
HWY_INLINE index_t sums_apart(D d, index_t row) {
  return HWY_MAX(row, static_cast<index_t>(hn::Lanes(d)));
}

// The tree over kRows rows, at column i.
template <int kRows, class X, class D>
HWY_INLINE hn::Vec<D> tree_of_rows(D d, const X* x, index_t pitch, index_t i) {
  hn::Vec<D> v[kRows];
  for (int t = 0; t < kRows; ++t) v[t] = AsIs::load(d, x + t * pitch + i);
  return fold_tree<Sum, kRows>(v);
}

// kRows rows, before which there were `unit` times as many, joined with the sums of those as the bits of their number
// say: row i of `kept` is of kRows << i rows. kAhead: rows lie apart, and the next ones are asked for meanwhile.
template <int kRows, bool kAhead, class X, class D>
HWY_INLINE void add_rows(D d, const X* x, index_t pitch, index_t unit, index_t row, hn::TFromD<D>* HWY_RESTRICT kept) {
  const index_t apart = sums_apart(d, row);
  const int joined = std::countr_one(static_cast<std::uint64_t>(unit));
  const auto tree = [&](index_t i) HWY_ATTR {
    for (int t = kRows; kAhead && t < 2 * kRows; ++t) __builtin_prefetch(x + t * pitch + i);
    return tree_of_rows<kRows>(d, x, pitch, i);
  };
  if (joined == 0) {  // every other time
    return for_vectors(d, row, [&](index_t i) HWY_ATTR { hn::StoreU(tree(i), d, kept + i); });
  }
  for_vectors(d, row, [&](index_t i) HWY_ATTR {
    auto v = hn::Add(hn::LoadU(d, kept + i), tree(i));
    for (int bit = 1; bit < joined; ++bit) v = hn::Add(hn::LoadU(d, kept + bit * apart + i), v);
    hn::StoreU(v, d, kept + joined * apart + i);
  });
}

// The sum of n rows, of which add_rows had all but the last n % kRows: those begin at `rest`.
template <int kRows, class X, class D>
HWY_INLINE void join_rows(D d, index_t n, const X* rest, index_t pitch, index_t row, const hn::TFromD<D>* kept,
                          hn::TFromD<D>* HWY_RESTRICT sums) {
  const index_t apart = sums_apart(d, row), units = n / kRows;
  const index_t top = std::bit_width(static_cast<std::uint64_t>(units)) - 1;
  for_vectors(d, row, [&](index_t i) HWY_ATTR {
    bool begun = units > 0;
    auto v = begun ? hn::LoadU(d, kept + top * apart + i) : hn::Zero(d);
    for (index_t bit = top - 1; bit >= 0; --bit) {
      if ((units >> bit) & 1) v = hn::Add(v, hn::LoadU(d, kept + bit * apart + i));
    }
    const X* x = rest;
    const auto add = [&](auto rows) HWY_ATTR {
      constexpr int kSome = decltype(rows)::value;
      if ((n & kSome) == 0) return;
      const auto more = tree_of_rows<kSome>(d, x, pitch, i);
      v = begun ? hn::Add(v, more) : more;
      begun = true;
      x += kSome * pitch;
    };
    if constexpr (kRows > 4) add(std::integral_constant<int, 4>());
    if constexpr (kRows > 2) add(std::integral_constant<int, 2>());
    add(std::integral_constant<int, 1>());
    hn::StoreU(v, d, sums + i);
  });
}

// The sum of rows, kRows of them at a time as they lie. `reads`: they are one run of memory, which is far.
template <int kRows, class X, class D>
HWY_NOINLINE void sum_rows(D d, const X* x, index_t n, index_t pitch, index_t row, bool reads, hn::TFromD<D>* kept,
                           hn::TFromD<D>* sums) {
  const index_t units = n / kRows, bytes = kRows * pitch * static_cast<index_t>(sizeof(X));
  const index_t chunk = HWY_MAX(1, kReadBytes / bytes);
  for (index_t unit = 0; unit < units; ++unit, x += kRows * pitch) {
    if (reads && unit % chunk == 0) read_lines(x, HWY_MIN(chunk, units - unit) * bytes);
    add_rows<kRows, false>(d, x, pitch, unit, row, kept);
  }
  join_rows<kRows>(d, n, x, pitch, row, kept, sums);
}

// The sum of rows that lie apart from each other. Such runs of a page or less are asked for before they are added.
template <class X, class D>
HWY_NOINLINE void sum_rows_apart(D d, const X* x, index_t n, index_t pitch, index_t row, bool far, hn::TFromD<D>* kept,
                                 hn::TFromD<D>* sums) {
  constexpr index_t kShort = 2048;
  for (index_t unit = 0; unit < n / kMostRows; ++unit, x += kMostRows * pitch) {
    if (far && row < kShort)
      add_rows<kMostRows, true>(d, x, pitch, unit, row, kept);
    else
      add_rows<kMostRows, false>(d, x, pitch, unit, row, kept);
  }
  join_rows<kMostRows>(d, n, x, pitch, row, kept, sums);
}

// Of volumes the sums over the first axis, some rows at a time, are rows that are summed in turn.
template <class X, class D>
HWY_NOINLINE void sum_volume(D d, const X* x, const GlobalPlane& plane, hn::TFromD<D>* sums) {
  using A = hn::TFromD<D>;
  const index_t rows = plane.count[1], columns = plane.columns, most = slab_rows(plane);
  A* kept = sums + sums_apart(d, columns);
  A* slab = kept + kept_rows(rows, 2) * sums_apart(d, columns);
  A* slab_kept = slab + sums_apart(d, most * columns);
  const A* last = slab;
  for (index_t row = 0, pair = 0; row < rows; row += most) {
    const index_t some = HWY_MIN(most, rows - row);
    sum_rows_apart(d, x + row * columns, plane.count[0], plane.pitch[0], some * columns, plane.far, slab_kept, slab);
    for (index_t t = 0; t + 1 < some; t += 2, ++pair)
      add_rows<2, false>(d, slab + t * columns, columns, pair, columns, kept);
    last = slab + (some - 1) * columns;
  }
  join_rows<2>(d, rows, last, columns, columns, kept, sums);
}

template <class X, int kLevels, class D>
HWY_INLINE void sum_columns(D d, const X* x, const GlobalPlane& plane, hn::TFromD<D>* sums) {
  using A = hn::TFromD<D>;
  if (sums_by_rows(plane, sizeof(X))) {
    if constexpr (kLevels == 1) {
      A* kept = sums + sums_apart(d, plane.columns);
      const auto sum = [&](auto rows) HWY_ATTR {
        constexpr int kRows = decltype(rows)::value;
        const bool reads = plane.far && has_short_rows(plane);
        sum_rows<kRows>(d, x, plane.count[0], plane.pitch[0], plane.columns, reads, kept, sums);
      };
      const index_t at_once = rows_at_once(plane);
      if (at_once == 2) return sum(std::integral_constant<int, 2>());
      if (at_once == 4) return sum(std::integral_constant<int, 4>());
      return sum(std::integral_constant<int, kMostRows>());
    }
    if constexpr (kLevels == 2) return sum_volume(d, x, plane, sums);
  }
  for_columns<X>(d, plane, [&](const auto& column) HWY_ATTR {
    typename std::remove_cvref_t<decltype(column)>::Sums s;
    if constexpr (kLevels == 0)
      s = column.value(x);
    else
      column.template fold_apart<kLevels>(x, s);
    store_columns(d, s, column.at, sums);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
