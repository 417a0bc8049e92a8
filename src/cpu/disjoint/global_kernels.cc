// Folds of whole planes: sums in the order of S8, extrema in any order, their NaN and zeros as S3 and S4 say.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/disjoint/global_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/disjoint/column_sum-inl.h"
#include "cpu/disjoint/global_kernels.h"
#include "cpu/element/fold-inl.h"
#include "cpu/element/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// P_m of a vector's lanes: neighbours first.
template <class D>
HWY_INLINE hn::TFromD<D> sum_of_lanes(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) >= 2) v = hn::Add(v, hn::Reverse2(d, v));
  if constexpr (hn::MaxLanes(d) >= 4) v = hn::Add(v, hn::Reverse4(d, v));
  if constexpr (hn::MaxLanes(d) >= 8) v = hn::Add(v, hn::Reverse8(d, v));
  if constexpr (hn::MaxLanes(d) >= 16) v = hn::Add(v, hn::Reverse(d, v));
  static_assert(hn::MaxLanes(d) <= 16);
  return hn::GetLane(v);
}

// The tree over kN elements, kN <= 8.
template <int kN, class A>
HWY_INLINE A sum_of(const A* s) {
  if constexpr (kN == 1) {
    return s[0];
  } else if constexpr (kN == floor_power_of_two(kN)) {
    return sum_of<kN / 2>(s) + sum_of<kN / 2>(s + kN / 2);
  } else {
    constexpr int kM = floor_power_of_two(kN), kRest = kN - kM, kNext = floor_power_of_two(kRest);
    const A head = sum_of<kM>(s) + sum_of<kNext>(s + kM);
    if constexpr (kRest == kNext)
      return head;
    else
      return head + s[kN - 1];
  }
}

template <class A>
A power_along(const A* s, index_t m) {
  const hn::ScalableTag<A> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  if (m == lanes) return sum_of_lanes(d, hn::LoadU(d, s));
  if (m == 2 * lanes) return sum_of_lanes(d, hn::LoadU(d, s)) + sum_of_lanes(d, hn::LoadU(d, s + lanes));
  if (m == 8) return sum_of<8>(s);
  if (m == 4) return sum_of<4>(s);
  if (m == 2) return sum_of<2>(s);
  if (m == 1) return s[0];
  const A low = power_along(s, m / 2);
  return low + power_along(s + m / 2, m / 2);
}

template <class A>
HWY_NOINLINE A sum_many_along(const A* s, index_t n) {
  index_t m = detail::floor_power_of_two(n);
  A sum = power_along(s, m);
  for (index_t t = m; t < n; t += m) {
    m = detail::floor_power_of_two(n - t);
    sum += power_along(s + t, m);
  }
  return sum;
}

template <class A>
HWY_INLINE A sum_along(const A* s, index_t n) {
  switch (n) {
    case 1:
      return sum_of<1>(s);
    case 2:
      return sum_of<2>(s);
    case 3:
      return sum_of<3>(s);
    case 4:
      return sum_of<4>(s);
    case 5:
      return sum_of<5>(s);
    case 6:
      return sum_of<6>(s);
    case 7:
      return sum_of<7>(s);
    case 8:
      return sum_of<8>(s);
    default:
      return sum_many_along(s, n);
  }
}

template <class A>
HWY_NOINLINE A sum_apart_along(const A* s, index_t n) {
  return sum_along(s, n);
}

template <class X, int kLevels, class D>
HWY_INLINE void sum_planes(D d, const X* x, const GlobalPlane& plane, index_t planes, hn::TFromD<D>* sums,
                           hn::TFromD<D>* out) {
  for (index_t p = 0; p < planes; ++p, x += plane.elems) {
    if constexpr (kLevels == 0 && std::is_same_v<X, hn::TFromD<D>>) {
      out[p] = sum_along(x, plane.columns);
    } else {
      sum_columns<X, kLevels>(d, x, plane, sums);
      out[p] = sum_apart_along(sums, plane.columns);
    }
  }
}

// Calls f with `n` of 1 to 8 as a constant.
template <class F>
HWY_INLINE void with_few(index_t n, const F& f) {
  switch (n) {
    case 1:
      return f(std::integral_constant<int, 1>());
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    case 4:
      return f(std::integral_constant<int, 4>());
    case 5:
      return f(std::integral_constant<int, 5>());
    case 6:
      return f(std::integral_constant<int, 6>());
    case 7:
      return f(std::integral_constant<int, 7>());
    default:
      return f(std::integral_constant<int, 8>());
  }
}

// Vectors that begin in several rows of several planes.
struct ShortRows {
  index_t planes;
  index_t plane_pitch;
  index_t rows;
  index_t row_pitch;
  index_t taps;  // of a tree, kMaxFold at most
  index_t tap_pitch;
};

// The trees of all rows, one vector each, side by side.
template <class X, class D>
HWY_INLINE void sum_short_rows(D d, const X* x, const ShortRows& s, hn::TFromD<D>* HWY_RESTRICT out) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  with_few(s.taps, [&](auto taps) HWY_ATTR {
    constexpr int kTaps = decltype(taps)::value;
    for (index_t p = 0; p < s.planes; ++p) {
      for (index_t r = 0; r < s.rows; ++r, out += lanes) {
        const X* row = x + p * s.plane_pitch + r * s.row_pitch;
        hn::Vec<D> v[kTaps];
        for (int t = 0; t < kTaps; ++t) v[t] = AsIs::load(d, row + t * s.tap_pitch);
        hn::Store(fold_tree<Sum, kTaps>(v), d, out);
      }
    }
  });
}

template <class D>
HWY_NOINLINE void sum_short_sums(D d, const hn::TFromD<D>* x, const ShortRows& s, hn::TFromD<D>* HWY_RESTRICT out) {
  sum_short_rows(d, x, s, out);
}

// The trees along some rows of sums, a vector each.
template <class D>
HWY_INLINE void sum_columns(D d, const hn::TFromD<D>* sums, index_t columns, index_t some, hn::TFromD<D>* out) {
  with_few(columns, [&](auto n) {
    for (index_t i = 0; i < some; ++i, sums += hn::Lanes(d)) out[i] = sum_of<decltype(n)::value>(sums);
  });
}

// The same in one code for all types that have these accumulators.
template <class D>
HWY_NOINLINE void sum_shared_columns(D d, const hn::TFromD<D>* sums, index_t columns, index_t some,
                                     hn::TFromD<D>* out) {
  sum_columns(d, sums, columns, some, out);
}

constexpr index_t kShortPlanes = 16;

inline bool is_short(const GlobalPlane& plane) {
  const bool few = plane.count[0] <= kMaxFold && (plane.levels == 1 || plane.count[1] <= kMaxFold);
  return plane.levels > 0 && few && plane.columns <= kMaxFold;
}

// Planes of a few rows within a vector: level by level for some of them, so that no level is a call or a jump for each.
template <class X, class D>
HWY_INLINE void sum_short_planes(D d, const X* x, const GlobalPlane& plane, index_t planes, hn::TFromD<D>* out) {
  using A = hn::TFromD<D>;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  HWY_ALIGN A first[kShortPlanes * kMaxFold * hn::MaxLanes(d)];
  HWY_ALIGN A second[kShortPlanes * hn::MaxLanes(d)];
  for (index_t p = 0; p < planes; p += kShortPlanes, x += kShortPlanes * plane.elems) {
    const index_t some = HWY_MIN(kShortPlanes, planes - p);
    const index_t rows = plane.levels == 1 ? 1 : plane.count[1];
    sum_short_rows(d, x, {some, plane.elems, rows, plane.pitch[1], plane.count[0], plane.pitch[0]}, first);
    if (rows > 1) sum_short_sums(d, first, {some, rows * lanes, 1, 0, rows, lanes}, second);
    const A* sums = rows > 1 ? second : first;
    if constexpr (std::is_same_v<X, float>) {  // with which networks end: a fifth quicker for 7x7 in code of its own
      sum_columns(d, sums, plane.columns, some, out + p);
    } else {
      sum_shared_columns(d, sums, plane.columns, some, out + p);
    }
  }
}

template <class X, class D>
HWY_INLINE void sum_levels(D d, const X* x, const GlobalPlane& plane, index_t planes, hn::TFromD<D>* sums,
                           hn::TFromD<D>* out) {
  if (is_short(plane) && plane.columns <= static_cast<index_t>(hn::Lanes(d))) {
    return sum_short_planes<X>(d, x, plane, planes, out);
  }
  if (plane.levels == 0) return sum_planes<X, 0>(d, x, plane, planes, sums, out);
  if (plane.levels == 1) return sum_planes<X, 1>(d, x, plane, planes, sums, out);
  sum_planes<X, 2>(d, x, plane, planes, sums, out);
}

template <class X>
void fold_sums(const void* x, const GlobalPlane& plane, index_t planes, void* sums, void* out) {
  using A = accumulator_t<X>;
  constexpr std::size_t kMost = hn::MaxLanes(hn::ScalableTag<A>());
  const X* from = static_cast<const X*>(x);
  A* s = static_cast<A*>(sums);
  A* to = static_cast<A*>(out);
  if constexpr (kMost >= 8) {  // vectors no longer than they must be: short rows end within them
    constexpr std::size_t kHalf = kMost / 2;
    if (plane.columns <= static_cast<index_t>(kHalf)) {
      return sum_levels(hn::CappedTag<A, kHalf>(), from, plane, planes, s, to);
    }
  }
  sum_levels(hn::ScalableTag<A>(), from, plane, planes, s, to);
}

template <class X>
void sum_rows_of(const void* x, const GlobalPlane& plane, void* sums) {
  using A = accumulator_t<X>;
  const hn::ScalableTag<A> d;
  const X* from = static_cast<const X*>(x);
  if (plane.levels == 1) return sum_columns<X, 1>(d, from, plane, static_cast<A*>(sums));
  sum_columns<X, 2>(d, from, plane, static_cast<A*>(sums));
}

// The first zero of a plane that has one: of equals the first stays, its sign too (S4).
template <class X, class D>
HWY_INLINE hn::TFromD<D> first_zero(D d, const X* x, index_t n) {
  using A = hn::TFromD<D>;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < n; i += lanes) {
    i = HWY_MIN(i, n - lanes);
    const auto zero = hn::Eq(AsIs::load(d, x + i), hn::Zero(d));
    if (!hn::AllFalse(d, zero)) return static_cast<A>(x[i + static_cast<index_t>(hn::FindFirstTrue(d, zero))]);
  }
  return A{0};
}

template <class R, class X>
HWY_INLINE X extremum_of(const X* x, index_t n) {
  using A = std::conditional_t<is_floating_v<X>, accumulator_t<X>, X>;
  const hn::ScalableTag<A> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  auto best = AsIs::load(d, x), other = best;
  auto nan = hn::Lt(best, best);
  if constexpr (is_floating_v<X>) nan = hn::IsNaN(best);
  const auto see = [&](auto& into, index_t i) HWY_ATTR {
    const auto v = AsIs::load(d, x + i);
    into = R::combine(into, v);
    if constexpr (is_floating_v<X>) nan = hn::Or(nan, hn::IsNaN(v));
  };
  index_t i = lanes;  // no prefetches: with them a third more time
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    see(best, i);
    see(other, i + lanes);
  }
  for (; i + lanes <= n; i += lanes) see(best, i);
  if (i < n) see(best, n - lanes);
  best = R::combine(best, other);
  if constexpr (is_floating_v<X>) {
    if (!hn::AllFalse(d, nan)) return static_cast<X>(std::numeric_limits<A>::quiet_NaN());
  }
  A result;
  if constexpr (std::is_same_v<R, Max>)
    result = hn::GetLane(hn::MaxOfLanes(d, best));
  else
    result = hn::GetLane(hn::MinOfLanes(d, best));
  if constexpr (is_floating_v<X>) {
    if (result == A{0}) result = first_zero(d, x, n);
  }
  return static_cast<X>(result);
}

template <class R, class X>
void fold_extrema(const void* x, const GlobalPlane& plane, index_t planes, void*, void* out) {
  const X* from = static_cast<const X*>(x);
  for (index_t p = 0; p < planes; ++p) static_cast<X*>(out)[p] = extremum_of<R>(from + p * plane.elems, plane.elems);
}

template <class X>
GlobalKernel kernel_of(Op op) {
  using A = std::conditional_t<is_floating_v<X>, accumulator_t<X>, X>;
  GlobalKernel k;
  k.vector = static_cast<index_t>(hn::Lanes(hn::ScalableTag<A>()));
  k.result_bytes = op == Op::max || op == Op::min ? sizeof(X) : sizeof(A);
  k.lowered = op == Op::max || op == Op::min;
  if (op == Op::max) k.fold = &fold_extrema<Max, X>;
  if (op == Op::min) k.fold = &fold_extrema<Min, X>;
  if constexpr (is_floating_v<X>) {
    if (op == Op::sum || op == Op::avg) {
      k.fold = &fold_sums<X>;
      k.sum_columns = &sum_rows_of<X>;
    }
  }
  return k;
}

GlobalKernel global(Op op, Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return kernel_of<double>(op);
    case Dtype::f32:
      return kernel_of<float>(op);
    case Dtype::f16:
      return kernel_of<half>(op);
    case Dtype::bf16:
      return kernel_of<bfloat16>(op);
    case Dtype::i32:
      return kernel_of<std::int32_t>(op);
    default:
      return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(global);
}
const GlobalTable& global_table() {
  static const PerTarget<GlobalTable> tables{
      [](GlobalTable& table, std::size_t which) { table.global = HWY_DISPATCH_TABLE(global)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
