// The commonest reduction as vector code, compiled once for each instruction set: f32 rows whose neighbouring outputs
// are one or two elements apart. The sum of a lane stays in a register for all taps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/fold.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "hwy/highway.h"
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

template <class Op, class D>
HWY_INLINE void fold_at(D d, float* HWY_RESTRICT row, const float* x, const FoldTaps& f, index_t i) {
  auto total = hn::Zero(d);
  if (f.stride == 1) {
    total = hn::LoadU(d, x + f.offsets[0] + i);
    for (index_t t = 1; t < f.taps; ++t) total = Op::of(total, hn::LoadU(d, x + f.offsets[t] + i));
  } else {
    for (index_t t = 0; t < f.taps; t += 2) {  // neighbouring taps come out of the same elements
      auto even = hn::Zero(d), odd = hn::Zero(d);
      hn::LoadInterleaved2(d, x + f.offsets[t] + 2 * i, even, odd);
      total = t == 0 ? even : Op::of(total, even);
      total = Op::of(total, odd);
    }
  }
  hn::StoreU(total, d, row + i);
}

template <class Op>
HWY_INLINE void fold_all(float* row, const float* x, const FoldTaps& f, index_t n) {
  const hn::ScalableTag<float> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) fold_at<Op>(d, row, x, f, i);
  if (i < n && n >= lanes) return fold_at<Op>(d, row, x, f, n - lanes);  // some lanes a second time
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) fold_at<Op>(one, row, x, f, i);
}

void fold_taps_of(Alu alu, float* row, const float* x, const FoldTaps& f, index_t n) {
  if (alu == Alu::add) return fold_all<Add>(row, x, f, n);
  if (alu == Alu::max) return fold_all<Greater>(row, x, f, n);
  fold_all<Lesser>(row, x, f, n);
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

void fold_taps(Alu alu, float* row, const float* x, const FoldTaps& f, index_t n) {
  HWY_DYNAMIC_DISPATCH(fold_taps_of)(alu, row, x, f, n);
}

}  // namespace oriel::tile
#endif
