// Vectors of 16-bit floats to f32 and back: in hardware where there is an instruction for it, else by integers.
// oriel::half's and oriel::bfloat16's conversions are the meaning. Included once per target.
#if defined(ORIEL_TILE_NARROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_TILE_NARROW_INL_H
#undef ORIEL_TILE_NARROW_INL_H
#else
#define ORIEL_TILE_NARROW_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::tile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if ORIEL_HALF_AND_FUSED
inline constexpr bool kHalfInHardware = true;
#else
inline constexpr bool kHalfInHardware = false;  // Highway's emulation knows neither infinities nor NaN
#endif

// A NaN without its payload, its sign kept; anything else as it is.
template <class D, class V>
HWY_INLINE V plain_nan(D d, V v) {
  const hn::RebindToUnsigned<D> du;
  const auto nan = hn::BitCast(d, hn::Set(du, 0x7fc00000U));
  return hn::IfThenElse(hn::IsNaN(v), hn::CopySign(nan, v), v);
}

struct Half {
  // The magnitude's bits are those of a float 2^112 times smaller.
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* x) {
    if constexpr (kHalfInHardware) {
      const hn::Rebind<hwy::float16_t, D> dh;
      return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(x)));
    } else {
      const hn::RebindToUnsigned<D> du;
      const hn::RebindToSigned<D> di;
      const hn::Rebind<std::uint16_t, D> d16;
      const auto bits = hn::PromoteTo(du, hn::LoadU(d16, x));
      const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffU));
      const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
      const auto scaled = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112F));
      const auto special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7bff));
      const auto top = hn::IfThenElseZero(hn::RebindMask(du, special), hn::Set(du, 0x7f800000U));
      return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, scaled), top), sign));
    }
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> value, std::uint16_t* y) {
    if constexpr (kHalfInHardware) {
      const hn::Rebind<hwy::float16_t, D> dh;
      hn::StoreU(hn::DemoteTo(dh, plain_nan(d, value)), dh, reinterpret_cast<hwy::float16_t*>(y));
    } else {
      const hn::Rebind<std::uint16_t, D> d16;
      hn::StoreU(hn::DemoteTo(d16, bits_of(d, value)), d16, y);
    }
  }

  // To half and back; a NaN stays one.
  template <class D>
  static HWY_INLINE hn::Vec<D> rounded(D d, hn::Vec<D> value) {
    if constexpr (kHalfInHardware) {
      const hn::Rebind<hwy::float16_t, D> dh;
      return hn::PromoteTo(d, hn::DemoteTo(dh, value));
    } else {
      std::uint16_t bits[hn::MaxLanes(D())];
      store(d, value, bits);
      return load(d, bits);
    }
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToSigned<D>> bits_of(D d, hn::Vec<D> value) {
    const hn::RebindToSigned<D> di;
    const auto all = hn::BitCast(di, value);
    const auto magnitude = hn::And(all, hn::Set(di, 0x7fffffff));
    // Adding 0.5 puts the subnormal's last bit where a float rounds.
    const auto half = hn::Set(d, 0.5F);
    const auto subnormal = hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(di, half));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Sub(magnitude, hn::Set(di, (112 << 23) - 0xfff)), odd));
    const auto special =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)), hn::Set(di, 0x7e00), hn::Set(di, 0x7c00));
    const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 113 << 23)), subnormal, normal);
    const auto bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477fffff)), special, finite);
    return hn::Or(bits, hn::And(hn::ShiftRight<16>(all), hn::Set(di, 0x8000)));
  }
};

struct Bfloat16 {
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* x) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, x))));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> rounded(D d, hn::Vec<D> value) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto sum = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffU)));
    const auto finite = hn::BitCast(d, hn::And(sum, hn::Set(du, 0xffff0000U)));
    return hn::IfThenElse(hn::IsNaN(value), plain_nan(d, value), finite);
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> value, std::uint16_t* y) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const hn::Rebind<std::uint16_t, D> d16;
    const auto top = hn::ShiftRight<16>(hn::BitCast(du, rounded(d, value)));
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, top)), d16, y);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace oriel::tile
HWY_AFTER_NAMESPACE();

#endif
