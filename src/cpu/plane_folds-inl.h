// What the folds of planes do with elements: how each enters a lane, and what becomes of it. Included once per target.
#if defined(ORIEL_CPU_PLANE_FOLDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_PLANE_FOLDS_INL_H
#undef ORIEL_CPU_PLANE_FOLDS_INL_H
#else
#define ORIEL_CPU_PLANE_FOLDS_INL_H
#endif

#include "cpu/fold-inl.h"
#include "cpu/plane.h"
#include "cpu/two_tables-inl.h"
#include "cpu/watch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Older sets have no such kernels: "rows" does as well there, and f16 and fused multiply-adds are missing.
#undef ORIEL_PLANES
#define ORIEL_PLANES (ORIEL_AVX512 || HWY_TARGET == HWY_AVX2)

template <class D>
HWY_INLINE index_t lanes_of(D d) {
  return static_cast<index_t>(hn::Lanes(d));
}

// The first n lanes from memory, zeros in the others.
template <class D>
HWY_INLINE hn::Vec<D> load_part(D d, const hn::TFromD<D>* p, index_t n) {
#if ORIEL_AVX512
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(n)), d, p);
#else
  HWY_ALIGN hn::TFromD<D> room[hn::MaxLanes(d)] = {};
  for (index_t i = 0; i < n; ++i) room[i] = p[i];
  return hn::Load(d, room);
#endif
}

template <class D>
HWY_INLINE void store_part(D d, hn::Vec<D> v, hn::TFromD<D>* p, index_t n) {
#if ORIEL_AVX512
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(n)), d, p);
#else
  HWY_ALIGN hn::TFromD<D> room[hn::MaxLanes(d)];
  hn::Store(v, d, room);
  for (index_t i = 0; i < n; ++i) p[i] = room[i];
#endif
}

struct LiftNone {
  template <class D, class V>
  static HWY_INLINE V of(D, V v) {
    return v;
  }
};

// A fold whose elements are lanes: in, folded and out. `L` is what becomes of an element first.
template <class R, class T, class L = LiftNone>
struct PlainFold {
  using Reduce = R;
  using In = T;
  using Lane = T;
  using Out = T;
  using By = T;                                                                         // in which averages are divided
  static constexpr bool kTree = std::is_same_v<R, Sum> && std::is_floating_point_v<T>;  // order matters
  static constexpr bool kWatch = !std::is_same_v<R, Sum> && std::is_floating_point_v<T>;
  static constexpr int kMantissa = 0;

  static constexpr In absent() {
    if constexpr (std::is_same_v<R, Sum>)
      return static_cast<T>(-0.0);
    else
      return std::is_same_v<R, Max> ? lowest_value<T>() : highest_value<T>();
  }
  static constexpr Lane identity() { return absent(); }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return hn::LoadU(d, p);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return load_part(d, p, n);
  }
  template <class D, class V>
  static HWY_INLINE V lift(D d, V v) {
    return L::of(d, v);
  }
  // What a folded vector becomes whose first element is number j of its row.
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering& b, B by, index_t j) {
    if constexpr (kTree) {
      switch (b.lower) {
        case PlaneLower::none:
          return v;
        case PlaneLower::multiply:
          return hn::Mul(v, by);
        case PlaneLower::divide:
          return hn::Div(v, by);
        case PlaneLower::divide_each:  // a product of small integers is exact
          return hn::Div(v, hn::Mul(by, hn::LoadU(d, static_cast<const T*>(b.divisor_each) + j)));
        case PlaneLower::root:
          return hn::Sqrt(v);
      }
    }
    (void)d, (void)b, (void)by, (void)j;
    return v;
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, Out* p) {
    hn::StoreU(v, d, p);
  }
  template <class D>
  static HWY_INLINE void store_some(D d, hn::Vec<D> v, Out* p, index_t n) {
    store_part(d, v, p, n);
  }
};

// Booleans are bytes of any value on their way in.
template <class R>
struct BoolFold : PlainFold<R, std::uint8_t> {
  static constexpr std::uint8_t absent() { return std::is_same_v<R, Max> ? 0 : 1; }
  static constexpr std::uint8_t identity() { return absent(); }
  template <class D, class V>
  static HWY_INLINE V lift(D d, V v) {
    return hn::Min(v, hn::Set(d, std::uint8_t{1}));
  }
};

// Extrema of 16-bit floats on integers in the same order (the map is its own inverse).
template <class R, int kBits>
struct KeyFold : PlainFold<R, std::int16_t> {
  using In = std::int16_t;
  static constexpr bool kWatch = true;
  static constexpr int kMantissa = kBits;
  static constexpr In kInfinity = static_cast<In>(0x7fff & ~((1 << kBits) - 1));
  static constexpr In absent() {
    return std::is_same_v<R, Min> ? kInfinity : static_cast<In>(static_cast<std::uint16_t>(kInfinity) | 0x8000U);
  }
  static constexpr In identity() { return static_cast<In>(absent() ^ ((absent() >> 15) & 0x7fff)); }
  template <class D, class V>
  static HWY_INLINE V lift(D d, V v) {
    return hn::Xor(v, hn::And(hn::ShiftRight<15>(v), hn::Set(d, In{0x7fff})));
  }
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering&, B, index_t) {
    return lift(d, v);
  }
};

// Narrow integers summed as i32; the average's quotient as f32 is on the same side of every half, or on it, as the
// exact one while sums stay below 2^23: a quotient that is no half is at least 1/(2 divisor) away from one.
template <class T>
struct NarrowSum {
  using Reduce = Sum;
  using In = T;
  using Lane = std::int32_t;
  using Out = T;
  using By = float;
  static constexpr bool kTree = false, kWatch = false;
  static constexpr int kMantissa = 0;

  static constexpr In absent() { return 0; }
  static constexpr Lane identity() { return 0; }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return hn::PromoteTo(d, load_part(hn::Rebind<T, D>(), p, n));
  }
  template <class D, class V>
  static HWY_INLINE V lift(D, V v) {
    return v;
  }
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering& b, B by, index_t j) {
    if (b.lower == PlaneLower::none) return v;
    const hn::Rebind<float, D> df;
    auto f = hn::ConvertTo(df, v);
    if (b.lower == PlaneLower::multiply) {
      f = hn::Mul(f, by);
    } else if (b.lower == PlaneLower::divide) {
      f = hn::Div(f, by);
    } else {
      f = hn::Div(f, hn::Mul(by, hn::LoadU(df, static_cast<const float*>(b.divisor_each) + j)));
    }
    (void)d;
    return hn::NearestInt(f);
  }
  template <class D>
  static HWY_INLINE void store(D, hn::Vec<D> v, Out* p) {
    const hn::Rebind<T, D> dt;
    hn::StoreU(hn::DemoteTo(dt, v), dt, p);
  }
  template <class D>
  static HWY_INLINE void store_some(D, hn::Vec<D> v, Out* p, index_t n) {
    const hn::Rebind<T, D> dt;
    store_part(dt, hn::DemoteTo(dt, v), p, n);
  }
};

#if ORIEL_PLANES
// Sums of 16-bit floats, in f32.
template <class Bits>
struct HalfSum : PlainFold<Sum, float> {
  using In = std::uint16_t;
  using Out = std::uint16_t;
  static constexpr In absent() { return 0x8000; }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return Bits::widen(d, hn::LoadU(hn::Rebind<In, D>(), p));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return Bits::widen(d, load_part(hn::Rebind<In, D>(), p, n));
  }
  // Quotients are rounded to an odd last bit, so that rounding them again to 16 bits is right.
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering& b, B by, index_t j) {
    if (b.lower == PlaneLower::none) return v;
    if (b.lower == PlaneLower::multiply) return hn::Mul(v, by);
    if (b.lower == PlaneLower::divide_each) {
      by = hn::Mul(by, hn::LoadU(d, static_cast<const float*>(b.divisor_each) + j));
    }
    const auto q = hn::Div(v, by), rest = hn::NegMulAdd(q, by, v), zero = hn::Zero(d);
    const auto inexact = hn::Or(hn::Lt(rest, zero), hn::Gt(rest, zero));
    const hn::RebindToSigned<D> di;
    const auto one = hn::Set(di, 1), bits = hn::BitCast(di, q);
    const auto beyond = hn::Lt(hn::Xor(bits, hn::BitCast(di, rest)), hn::Zero(di));
    const auto cut = hn::IfThenElse(beyond, hn::Sub(bits, one), bits);
    return hn::IfThenElse(inexact, hn::BitCast(d, hn::Or(cut, one)), q);
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, Out* p) {
    hn::StoreU(Bits::narrow(d, v), hn::Rebind<In, D>(), p);
  }
  template <class D>
  static HWY_INLINE void store_some(D d, hn::Vec<D> v, Out* p, index_t n) {
    store_part(hn::Rebind<In, D>(), Bits::narrow(d, v), p, n);
  }
};

struct F16Bits {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> v) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), v));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D, hn::Vec<D> v) {
    return hn::BitCast(hn::Rebind<std::uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  }
};
struct Bf16Bits {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> v) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, v)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto nearest = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffU))));
    const auto nan = hn::RebindMask(du, hn::Ne(v, v));
    return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(),
                        hn::BitCast(di, hn::IfThenElse(nan, hn::Set(du, 0x7fc0U), nearest)));
  }
};
#endif

// A fold P of rows that are folded already along another axis.
template <class P>
struct Again : P {
  using In = typename P::Lane;
  static constexpr bool kWatch = false;
  static constexpr In absent() { return P::identity(); }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return hn::LoadU(d, p);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return load_part(d, p, n);
  }
  template <class D, class V>
  static HWY_INLINE V lift(D, V v) {
    return v;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
