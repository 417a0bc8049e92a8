// Folds of the valid taps of windows, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/valid_blocks/fold_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <cstring>

#include "cpu/element/fold-inl.h"
#include "cpu/element/load-inl.h"
#include "cpu/valid_blocks/fold_kernels.h"
#include "cpu/valid_blocks/tap_tree.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class X, class D>
HWY_INLINE hn::Vec<D> load_element(D d, const void* row, index_t i) {
  using A = hn::TFromD<D>;
  const X* x = static_cast<const X*>(row) + i;
  if constexpr (std::is_same_v<A, double> && (std::is_same_v<X, half> || std::is_same_v<X, bfloat16>))
    return hn::PromoteTo(d, AsIs::load(hn::Rebind<float, D>(), x));
  else
    return AsIs::load(d, x);
}

// Lanes whose byte of the mask is not 0.
template <class D>
HWY_INLINE hn::Mask<D> load_valid(D d, const void* row, index_t i) {
  const auto bytes = hn::LoadU(hn::Rebind<std::uint8_t, D>(), static_cast<const std::uint8_t*>(row) + i);
  const hn::Rebind<std::int32_t, D> d32;
  if constexpr (sizeof(hn::TFromD<D>) == 2) {
    return hn::Ne(hn::PromoteTo(d, bytes), hn::Zero(d));
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(d32, bytes), hn::Zero(d32)));
  } else {
    const auto v = hn::PromoteTo(d32, bytes);
    const hn::RebindToSigned<D> d64;
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(d64, v), hn::Zero(d64)));
  }
}

template <class D>
HWY_INLINE hn::Vec<D> one_value(D d, const std::array<std::byte, 8>& bytes) {
  hn::TFromD<D> v;
  std::memcpy(&v, bytes.data(), sizeof(v));
  return hn::Set(d, v);
}

// The taps of the windows at one place, and how many are valid.
template <class X, TapTest kTest, class D>
class Tests {
  using A = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr bool kFloating = std::is_floating_point_v<A>;

 public:
  HWY_INLINE Tests(D d, const TapRows& r, index_t i) : d_(d), r_(r), i_(r.first + i), count_(hn::Zero(d)) {}

  // Tap t if it is valid, else `none`.
  HWY_INLINE V see(index_t t, V none) {
    const V v = load_element<X>(d_, r_.taps[t], i_);
    if constexpr (kTest == TapTest::none) return v;
    const V one = hn::Set(d_, A{1});
    if constexpr (kTest == TapTest::nan) {
      if constexpr (kFloating) {
        const auto nan = hn::IsNaN(v);
        count_ = hn::Add(count_, hn::IfThenZeroElse(nan, one));
        return hn::IfThenElse(nan, none, v);
      }
    }
    auto valid = hn::Eq(one, one);
    if (r_.masks != nullptr) valid = load_valid(d_, r_.masks[t], i_);
    if constexpr (kFloating) {
      if (r_.drop_nan) valid = hn::And(valid, hn::Not(hn::IsNaN(v)));
    }
    if (r_.has_nodata) valid = hn::And(valid, hn::Not(hn::Eq(v, one_value(d_, r_.nodata))));
    count_ = hn::Add(count_, hn::IfThenElseZero(valid, one));
    return hn::IfThenElse(valid, v, none);
  }
  HWY_INLINE bool has(index_t t) const { return r_.taps[t] != nullptr; }
  HWY_INLINE void store(index_t i) const {
    if constexpr (kTest != TapTest::none) hn::StoreU(count_, d_, static_cast<A*>(r_.valid) + i);
  }

 private:
  D d_;
  const TapRows& r_;
  const index_t i_;
  V count_;
};

// What changes no sum.
template <class D>
HWY_INLINE hn::Vec<D> no_term(D d) {
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) return hn::Set(d, static_cast<hn::TFromD<D>>(-0.0));
  return hn::Zero(d);
}

template <class X, TapTest kTest, int kTaps, class D>
HWY_INLINE hn::Vec<D> sum_even(D d, Tests<X, kTest, D>& tests, const TapRows& r) {
  hn::Vec<D> v[kTaps];
  for (int t = 0; t < kTaps; ++t) v[t] = tests.see(r.leaves[t], no_term(d));
  return fold_tree<Sum, kTaps>(v);
}

template <class X, TapTest kTest, class D>
HWY_INLINE hn::Vec<D> sum_steps(D d, Tests<X, kTest, D>& tests, const TapRows& r) {
  const auto none = no_term(d);
  hn::Vec<D> stack[kMostTreeDepth + 1];
  hn::Vec<D>* top = stack;  // the sum above those that wait
  *top = none;
  for (index_t s = 0; s < r.step_count; ++s) {
    const std::int16_t t = r.steps[s];
    if (t == TapTree::kAddTaps) {
      --top;
      top[0] = hn::Add(top[0], top[1]);
    } else {
      *++top = tests.has(t) ? tests.see(t, none) : none;
    }
  }
  return *top;
}

template <class X, TapTest kTest, int kEven, class D>
HWY_INLINE void sum_at(D d, const TapRows& r, index_t i) {
  using A = hn::TFromD<D>;
  Tests<X, kTest, D> tests(d, r, i);
  hn::Vec<D> sum = no_term(d);
  if constexpr (!std::is_floating_point_v<A>) {
    for (index_t t = 0; t < r.count; ++t) {
      if (tests.has(t)) sum = hn::Add(sum, tests.see(t, hn::Zero(d)));
    }
  } else if constexpr (kEven > 0) {
    sum = sum_even<X, kTest, kEven>(d, tests, r);
  } else {
    sum = sum_steps(d, tests, r);
  }
  hn::StoreU(sum, d, static_cast<A*>(r.out) + i);
  tests.store(i);
}

// NaN are true.
template <class X, class D>
HWY_INLINE void nonzero_at(D d, const TapRows& r, index_t i) {
  using A = hn::TFromD<D>;
  Tests<X, TapTest::any, D> tests(d, r, i);
  const auto zero = hn::Zero(d), one = hn::Set(d, A{1});
  auto sum = zero;
  for (index_t t = 0; t < r.count; ++t) {
    if (tests.has(t)) sum = hn::Add(sum, hn::IfThenZeroElse(hn::Eq(tests.see(t, zero), zero), one));
  }
  hn::StoreU(sum, d, static_cast<A*>(r.out) + i);
  tests.store(i);
}

// The first of the extreme taps (S4), a NaN if there is one.
template <class X, bool kMax, class D>
HWY_INLINE void extremum_at(D d, const TapRows& r, index_t i) {
  using A = hn::TFromD<D>;
  Tests<X, TapTest::any, D> tests(d, r, i);
  const auto none = one_value(d, r.identity);
  auto best = none;
  for (index_t t = 0; t < r.count; ++t) {
    if (!tests.has(t)) continue;
    const auto v = tests.see(t, none);
    if constexpr (!std::is_floating_point_v<A>) {
      best = kMax ? hn::Max(best, v) : hn::Min(best, v);
    } else {
      auto better = kMax ? hn::Gt(v, best) : hn::Lt(v, best);
      better = hn::Or(better, hn::IsNaN(v));
      best = hn::IfThenElse(better, v, best);
    }
  }
  hn::StoreU(best, d, static_cast<A*>(r.out) + i);
  tests.store(i);
}

// Whole vectors, the last of which overlaps the one before, or single places.
template <class A, class At>
HWY_INLINE void each_place_by(index_t n, const At& at) {
  const hn::ScalableTag<A> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  if (n < lanes) {
    const hn::CappedTag<A, 1> one;
    for (index_t i = 0; i < n; ++i) at(one, i);
    return;
  }
  cover_by(d, n, at);
}

template <class X, class A, TapTest kTest>
void sum_taps(const TapRows& r) {
  if constexpr (std::is_floating_point_v<A>) {
    if (r.leaves != nullptr && r.count == 4)
      return each_place_by<A>(r.n, [&](auto d, index_t i) HWY_ATTR { sum_at<X, kTest, 4>(d, r, i); });
    if (r.leaves != nullptr && r.count == 8)
      return each_place_by<A>(r.n, [&](auto d, index_t i) HWY_ATTR { sum_at<X, kTest, 8>(d, r, i); });
  }
  each_place_by<A>(r.n, [&](auto d, index_t i) HWY_ATTR { sum_at<X, kTest, 0>(d, r, i); });
}

template <class X, class A>
void count_nonzero(const TapRows& r) {
  each_place_by<A>(r.n, [&](auto d, index_t i) HWY_ATTR { nonzero_at<X>(d, r, i); });
}

template <class X, class A, bool kMax>
void fold_extremum(const TapRows& r) {
  each_place_by<A>(r.n, [&](auto d, index_t i) HWY_ATTR { extremum_at<X, kMax>(d, r, i); });
}

template <class X>
using LaneOf = std::conditional_t<
    std::is_same_v<X, double>, double,
    std::conditional_t<
        is_floating_v<X>, float,
        std::conditional_t<std::is_same_v<X, std::uint64_t>, std::uint64_t,
                           std::conditional_t<sizeof(X) == 1, std::int16_t,
                                              std::conditional_t<(sizeof(X) < 4), std::int32_t, std::int64_t>>>>>;

template <class X, class A>
FoldTapRows sum_of(TapTest test) {
  if (test == TapTest::none) return &sum_taps<X, A, TapTest::none>;
  if constexpr (std::is_floating_point_v<A>) {
    if (test == TapTest::nan) return &sum_taps<X, A, TapTest::nan>;
  }
  return &sum_taps<X, A, TapTest::any>;
}

FoldTapRows tap_fold(TapFold fold, Dtype x, bool wide, TapTest test) {
  return visit(x, [&]<class X>() -> FoldTapRows {
    using A = LaneOf<X>;
    switch (fold) {
      case TapFold::sum:
        if constexpr (is_floating_v<X>) {
          if (wide) return sum_of<X, double>(test);
        }
        return sum_of<X, A>(test);
      case TapFold::nonzero:
        return &count_nonzero<X, A>;
      case TapFold::max:
        return &fold_extremum<X, A, true>;
      default:
        return &fold_extremum<X, A, false>;
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(tap_fold);
using TapFoldOf = FoldTapRows (*)(TapFold fold, Dtype x, bool wide, TapTest test);
}  // namespace

TapLane tap_lane(TapFold fold, Dtype x, bool wide) {
  if (x == Dtype::f64 || (is_floating(x) && wide && fold == TapFold::sum)) return TapLane::f64;
  if (is_floating(x)) return TapLane::f32;
  if (x == Dtype::u64) return TapLane::u64;
  return size_bytes(x) == 1 ? TapLane::i16 : size_bytes(x) == 2 ? TapLane::i32 : TapLane::i64;
}

FoldTapRows fold_tap_rows(TapFold fold, Dtype x, bool wide, TapTest test) {
  static const PerTarget<TapFoldOf> all{
      [](TapFoldOf& one, std::size_t which) { one = HWY_DISPATCH_TABLE(tap_fold)[which]; }};
  return all.active()(fold, x, wide, test);
}
}  // namespace oriel::cpu
#endif
