// Rows of 16-bit floats to f32 and back as vector code, compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/convert.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "hwy/highway.h"
#include "tile/convert.h"
#include "tile/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::tile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f(tag, i) for vectors that cover [0, n): where one fits, the last one begins earlier and does some elements again.
template <class F>
HWY_INLINE void each_vector(index_t n, const F& f) {
  const hn::ScalableTag<float> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  if (i < n && n >= lanes) return f(d, n - lanes);
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) f(one, i);
}

template <class Kind>
void widen(float* HWY_RESTRICT row, const std::uint16_t* HWY_RESTRICT x, index_t n) {
  each_vector(n, [=](auto d, index_t i) HWY_ATTR { hn::StoreU(Kind::load(d, x + i), d, row + i); });
}
template <class Kind>
void narrow(const float* HWY_RESTRICT row, std::uint16_t* HWY_RESTRICT y, index_t n) {
  each_vector(n, [=](auto d, index_t i) HWY_ATTR { Kind::store(d, hn::LoadU(d, row + i), y + i); });
}
// Each element once, as it is written where it was read.
template <class F>
HWY_INLINE void each_vector_once(index_t n, const F& f) {
  const hn::ScalableTag<float> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) f(one, i);
}

template <class Kind>
void round_and_scale(float* row, float factor, index_t n) {
  each_vector_once(n, [=](auto d, index_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(Kind::rounded(d, hn::LoadU(d, row + i)), hn::Set(d, factor)), d, row + i);
  });
}

void widen_halves_of(float* row, const std::uint16_t* x, index_t n) { widen<Half>(row, x, n); }
void widen_bfloat16s_of(float* row, const std::uint16_t* x, index_t n) { widen<Bfloat16>(row, x, n); }
void narrow_halves_of(const float* row, std::uint16_t* y, index_t n) { narrow<Half>(row, y, n); }
void narrow_bfloat16s_of(const float* row, std::uint16_t* y, index_t n) { narrow<Bfloat16>(row, y, n); }
void scale_halves_of(float* row, float factor, index_t n) { round_and_scale<Half>(row, factor, n); }
void scale_bfloat16s_of(float* row, float factor, index_t n) { round_and_scale<Bfloat16>(row, factor, n); }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::tile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::tile {

HWY_EXPORT(widen_halves_of);
HWY_EXPORT(widen_bfloat16s_of);
HWY_EXPORT(narrow_halves_of);
HWY_EXPORT(narrow_bfloat16s_of);
HWY_EXPORT(scale_halves_of);
HWY_EXPORT(scale_bfloat16s_of);

void widen_row(float* row, const half* x, index_t n) {
  HWY_DYNAMIC_DISPATCH(widen_halves_of)(row, reinterpret_cast<const std::uint16_t*>(x), n);
}
void widen_row(float* row, const bfloat16* x, index_t n) {
  HWY_DYNAMIC_DISPATCH(widen_bfloat16s_of)(row, reinterpret_cast<const std::uint16_t*>(x), n);
}
void narrow_row(const float* row, half* y, index_t n) {
  HWY_DYNAMIC_DISPATCH(narrow_halves_of)(row, reinterpret_cast<std::uint16_t*>(y), n);
}
void narrow_row(const float* row, bfloat16* y, index_t n) {
  HWY_DYNAMIC_DISPATCH(narrow_bfloat16s_of)(row, reinterpret_cast<std::uint16_t*>(y), n);
}
void round_to_half(float* row, float factor, index_t n) { HWY_DYNAMIC_DISPATCH(scale_halves_of)(row, factor, n); }
void round_to_bfloat16(float* row, float factor, index_t n) {
  HWY_DYNAMIC_DISPATCH(scale_bfloat16s_of)(row, factor, n);
}

}  // namespace oriel::tile
#endif
