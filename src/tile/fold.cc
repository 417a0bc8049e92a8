// The commonest reduction as vector code, compiled once for each instruction set: rows of floats whose neighbouring
// outputs are one or two elements apart. The sum of a lane stays in a register for all taps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/fold.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "hwy/highway.h"
#include "tile/narrow-inl.h"
#include "tile/rows.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::tile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Add {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::Add(a, b);
  }
};
// As greater_of and lesser_of in element.h: a NaN wins, and of equal ones a.
struct Greater {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::AndNot(hn::IsNaN(a), hn::IsNaN(b))), b, a);
  }
};
struct Lesser {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::AndNot(hn::IsNaN(a), hn::IsNaN(b))), b, a);
  }
};

// Elements of memory, as f32.
struct Floats {
  using type = float;
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const float* x) {
    return hn::LoadU(d, x);
  }
};
struct Halves : Half {
  using type = std::uint16_t;
};
struct Bfloat16s : Bfloat16 {
  using type = std::uint16_t;
};

// Of twice as many neighbours those at even and at odd places.
template <class Kind, class D, class V>
HWY_INLINE void load_pairs(D d, const typename Kind::type* x, V& even, V& odd) {
  if constexpr (std::is_same_v<Kind, Floats>) {
    hn::LoadInterleaved2(d, x, even, odd);
    return;
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1 && !std::is_same_v<Kind, Floats>) {
    const auto low = Kind::load(d, x), high = Kind::load(d, x + hn::Lanes(d));
    even = hn::ConcatEven(d, high, low);
    odd = hn::ConcatOdd(d, high, low);
    return;
  }
#endif
  even = Kind::load(d, x);
  odd = Kind::load(d, x + 1);
}

// kTaps: how many there are, where that is known beforehand; else 0.
template <class Op, class Kind, int kTaps, class D>
HWY_INLINE void fold_at(D d, float* HWY_RESTRICT row, const typename Kind::type* x, const FoldTaps& f, index_t i) {
  const index_t taps = kTaps > 0 ? kTaps : f.taps;
  auto total = hn::Zero(d);
  if (kTaps == 0 && f.stride == 1) {
    total = Kind::load(d, x + f.offsets[0] + i);
    for (index_t t = 1; t < taps; ++t) total = Op::of(total, Kind::load(d, x + f.offsets[t] + i));
  } else {
    for (index_t t = 0; t < taps; t += 2) {  // neighbouring taps come out of the same elements
      auto even = hn::Zero(d), odd = hn::Zero(d);
      load_pairs<Kind>(d, x + f.offsets[t] + 2 * i, even, odd);
      total = t == 0 ? even : Op::of(total, even);
      total = Op::of(total, odd);
    }
  }
  hn::StoreU(total, d, row + i);
}

template <class Op, class Kind, int kTaps>
HWY_INLINE void fold_all(float* row, const void* data, const FoldTaps& f, index_t n) {
  const auto* x = static_cast<const typename Kind::type*>(data);
  const hn::ScalableTag<float> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) fold_at<Op, Kind, kTaps>(d, row, x, f, i);
  if (i < n && n >= lanes) return fold_at<Op, Kind, kTaps>(d, row, x, f, n - lanes);  // some lanes a second time
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) fold_at<Op, Kind, kTaps>(one, row, x, f, i);
}

template <class Op, class Kind>
HWY_INLINE void fold_some(float* row, const void* x, const FoldTaps& f, index_t n) {
  if (f.stride == 2 && f.taps == 4) return fold_all<Op, Kind, 4>(row, x, f, n);  // 2x2 windows
  fold_all<Op, Kind, 0>(row, x, f, n);
}
template <class Kind>
HWY_INLINE void fold_kind(Alu alu, float* row, const void* x, const FoldTaps& f, index_t n) {
  if (alu == Alu::add) return fold_some<Add, Kind>(row, x, f, n);
  if (alu == Alu::max) return fold_some<Greater, Kind>(row, x, f, n);
  fold_some<Lesser, Kind>(row, x, f, n);
}

void fold_taps_of(Alu alu, float* row, const void* x, Dtype dtype, const FoldTaps& f, index_t n) {
  if (dtype == Dtype::f16) return fold_kind<Halves>(alu, row, x, f, n);
  if (dtype == Dtype::bf16) return fold_kind<Bfloat16s>(alu, row, x, f, n);
  fold_kind<Floats>(alu, row, x, f, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::tile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::tile {

HWY_EXPORT(fold_taps_of);

bool can_fold_taps(Alu alu, const FoldTaps& f) {
  if (alu != Alu::add && alu != Alu::max && alu != Alu::min) return false;
  if (f.stride == 1) return true;
  bool pairs = f.stride == 2 && f.taps % 2 == 0;
  for (index_t t = 0; pairs && t < f.taps; t += 2) pairs = f.offsets[t + 1] == f.offsets[t] + 1;
  return pairs;
}

void fold_taps(Alu alu, float* row, const void* x, Dtype dtype, const FoldTaps& f, index_t n) {
  HWY_DYNAMIC_DISPATCH(fold_taps_of)(alu, row, x, dtype, f, n);
}

}  // namespace oriel::tile
#endif
