// Elements of a tensor as vectors of accumulators, and the watch for values that plain extrema do not treat exactly.
// Included once per target.
#if defined(ORIEL_CPU_ELEMENT_LOAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_LOAD_INL_H
#undef ORIEL_CPU_ELEMENT_LOAD_INL_H
#else
#define ORIEL_CPU_ELEMENT_LOAD_INL_H
#endif

#include "cpu/element/kinds.h"
#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The type that vectors of X are loaded as.
template <class X>
struct Loaded {
  using type = X;
};
template <>
struct Loaded<half> {
  using type = std::uint16_t;
};
template <>
struct Loaded<bfloat16> {
  using type = std::uint16_t;
};
template <>
struct Loaded<bool8> {
  using type = std::uint8_t;
};

#if ORIEL_HALF_AND_FUSED
inline constexpr bool kHalfInHardware = true;
#else
inline constexpr bool kHalfInHardware = false;  // Highway's emulation knows neither infinities nor NaN
#endif

// f16 -> f32, exact for every value: the magnitude's bits are those of a float 2^112 times smaller.
template <class D>
HWY_INLINE hn::Vec<D> widen_half(D d, const half* x) {
  if constexpr (kHalfInHardware) {
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(x)));
  } else {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
    const auto bits = hn::PromoteTo(du, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(x)));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffU));
    const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
    const auto scaled = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112F));
    const hn::RebindToSigned<D> di;
    const auto special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7bff));
    const auto top = hn::IfThenElseZero(hn::RebindMask(du, special), hn::Set(du, 0x7f800000U));
    return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, scaled), top), sign));
  }
}

// A vector of elements as accumulators.
struct AsIs {
  template <class X, class D>
  static HWY_INLINE hn::Vec<D> load(D d, const X* x) {
    using A = hn::TFromD<D>;
    if constexpr (std::is_same_v<X, half>) {
      return widen_half(d, x);
    } else if constexpr (std::is_same_v<X, bfloat16>) {
      const hn::RebindToUnsigned<D> du;
      const hn::Rebind<std::uint16_t, D> d16;
      const auto bits = hn::PromoteTo(du, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(x)));
      return hn::BitCast(d, hn::ShiftLeft<16>(bits));
    } else if constexpr (std::is_same_v<X, bool8>) {
      const hn::Rebind<std::uint8_t, D> d8;
      const auto bytes = hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(x));
      return hn::PromoteTo(d, hn::Min(bytes, hn::Set(d8, std::uint8_t{1})));
    } else if constexpr (sizeof(X) == sizeof(A)) {
      return hn::LoadU(d, reinterpret_cast<const A*>(x));
    } else if constexpr (std::is_unsigned_v<X>) {  // zero-extended
      const hn::RebindToUnsigned<D> du;
      const hn::Rebind<X, D> dx;
      return hn::BitCast(d, hn::PromoteTo(du, hn::LoadU(dx, x)));
    } else {
      const hn::Rebind<X, D> dx;
      return hn::PromoteTo(d, hn::LoadU(dx, x));
    }
  }
};
struct Magnitude {
  template <class X, class D>
  static HWY_INLINE hn::Vec<D> load(D d, const X* x) {
    return hn::Abs(AsIs::load(d, x));
  }
};
struct Squared {
  template <class X, class D>
  static HWY_INLINE hn::Vec<D> load(D d, const X* x) {
    const auto v = AsIs::load(d, x);
    return hn::Mul(v, v);
  }
};
// f16 and bf16 as integers in the order of their values; the map is its own inverse.
struct OrderKey {
  template <class V, class D>
  static HWY_INLINE V of(D d, V bits) {
    return hn::Xor(bits, hn::And(hn::ShiftRight<15>(bits), hn::Set(d, std::int16_t{0x7fff})));
  }
  template <class X, class D>
  static HWY_INLINE hn::Vec<D> load(D d, const X* x) {
    return of(d, hn::LoadU(d, reinterpret_cast<const std::int16_t*>(x)));
  }
};

#if ORIEL_AVX512
constexpr int kQuietSignalingOrMinusZero = 0x85;
HWY_INLINE unsigned special_lanes(__m512 v) { return _mm512_fpclass_ps_mask(v, kQuietSignalingOrMinusZero); }
HWY_INLINE unsigned special_lanes(__m512d v) { return _mm512_fpclass_pd_mask(v, kQuietSignalingOrMinusZero); }
HWY_INLINE unsigned special_lanes(__m128 v) { return _mm_fpclass_ps_mask(v, kQuietSignalingOrMinusZero); }
HWY_INLINE unsigned special_lanes(__m128d v) { return _mm_fpclass_pd_mask(v, kQuietSignalingOrMinusZero); }
#endif

// Looks for NaN and negative zeros in vectors of floats: one instruction and an `or` where there is one for it.
// Elsewhere the greatest magnitude tells a NaN, and the least signed bits a negative zero.
template <class X, class D>
class ElementWatch {
  using S =
      std::conditional_t<sizeof(X) == 8, std::int64_t, std::conditional_t<sizeof(X) == 4, std::int32_t, std::int16_t>>;
  using DS = hn::Repartition<S, D>;

 public:
#if ORIEL_AVX512
  static constexpr bool kByClass = sizeof(X) >= 4;
#else
  static constexpr bool kByClass = false;
#endif

  // Not defaulted: an implicit function is compiled for no instruction set in particular.
  HWY_INLINE ElementWatch() : found_(0), magnitude_(hn::Zero(DS())), least_(hn::Zero(DS())) {}

  HWY_INLINE void see(D d, const X* x) {
#if ORIEL_AVX512
    if constexpr (kByClass) {
      found_ |= special_lanes(hn::LoadU(d, x).raw);
      return;
    }
#endif
    (void)d;
    const DS ds;
    const auto v = hn::LoadU(ds, reinterpret_cast<const S*>(x));
    magnitude_ = hn::Max(magnitude_, hn::And(v, hn::Set(ds, highest_value<S>())));
    least_ = hn::Min(least_, v);
  }

  // `infinity`: its bits, for 16-bit types that share the code.
  HWY_INLINE bool found(S infinity) const {
    if constexpr (kByClass) {
      return found_ != 0;
    } else {
      const DS ds;
      const auto nan = hn::Gt(magnitude_, hn::Set(ds, infinity));
      return !hn::AllFalse(ds, hn::Or(nan, hn::Eq(least_, hn::Set(ds, lowest_value<S>()))));
    }
  }

 private:
  unsigned found_;
  hn::Vec<DS> magnitude_, least_;
};

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
