// What the folds of planes do with elements: how each enters a lane, and what becomes of it. Included once per target.
#if defined(ORIEL_CPU_ELEMENT_TRAITS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_TRAITS_INL_H
#undef ORIEL_CPU_ELEMENT_TRAITS_INL_H
#else
#define ORIEL_CPU_ELEMENT_TRAITS_INL_H
#endif

#include "cpu/element/epilogue.h"
#include "cpu/element/fold-inl.h"
#include "cpu/element/special-inl.h"
#include "cpu/simd/two_tables-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

// A vector of elements of half a lane's size.
template <class T, class D>
using Halves = hn::Vec<hn::Repartition<T, D>>;

struct LiftNone {
  template <class D, class V>
  static HWY_INLINE V of(D, V v) {
    return v;
  }
};

// Whether extrema of T are watched for NaN and negative zeros.
template <class R, class T>
inline constexpr bool kWatched = !std::is_same_v<R, Sum> && std::is_floating_point_v<T>;

// A fold whose elements are lanes: in, folded and out. `L` is what becomes of an element first.
template <class R, class T, class L = LiftNone, bool kLooks = kWatched<R, T>>
struct PlainFold {
  using Reduce = R;
  using In = T;
  using Lane = T;
  using Out = T;
  using By = T;                                                                         // in which averages are divided
  static constexpr bool kTree = std::is_same_v<R, Sum> && std::is_floating_point_v<T>;  // order matters
  static constexpr bool kWatch = kLooks;

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

// Extrema of 16-bit floats on integers in the same order (the map is its own inverse): one code for f16 and bf16, which
// differ in their infinity.
template <class R>
struct KeyFold : PlainFold<R, std::int16_t> {
  using In = std::int16_t;
  static constexpr bool kWatch = true;
  static constexpr In absent(In infinity) {
    return std::is_same_v<R, Min> ? infinity : static_cast<In>(static_cast<std::uint16_t>(infinity) | 0x8000U);
  }
  static constexpr In identity(In infinity) {
    return static_cast<In>(absent(infinity) ^ ((absent(infinity) >> 15) & 0x7fff));
  }
  template <class D, class V>
  static HWY_INLINE V lift(D d, V v) {
    return hn::Xor(v, hn::And(hn::ShiftRight<15>(v), hn::Set(d, In{0x7fff})));
  }
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering&, B, index_t) {
    return lift(d, v);
  }
};

// An element of x that counts as nothing, and what it is folded to.
template <class P>
HWY_INLINE typename P::In absent_of([[maybe_unused]] const PlaneLowering& b) {
  if constexpr (requires { P::absent(b.infinity); })
    return P::absent(b.infinity);
  else
    return P::absent();
}
template <class P>
HWY_INLINE typename P::Lane identity_of([[maybe_unused]] const PlaneLowering& b) {
  if constexpr (requires { P::identity(b.infinity); })
    return P::identity(b.infinity);
  else
    return P::identity();
}

// The fold of lanes that are folded already along another axis: nothing is watched or lifted.
template <class R, class T>
using LaneFold = PlainFold<R, T, LiftNone, false>;

// A fold P of rows that are folded already along another axis, lowered as P does.
template <class P>
struct Again : P {
  using In = typename P::Lane;
  static constexpr bool kWatch = false;
  static constexpr In absent() { return P::identity(); }
  static constexpr In absent(In infinity) requires requires { P::identity(infinity); }
  { return P::identity(infinity); }
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

// Folds of the same code as P's, of which one is enough: of rows that are folded, of rows across, and of folded rows
// along.
template <class P>
struct Shared {
  using Again = HWY_NAMESPACE::Again<P>;
  using Across = P;
  using Along = P;
};
template <class R, class T, class L, bool kLooks>
struct Shared<PlainFold<R, T, L, kLooks>> {
  using Again = LaneFold<R, T>;
  using Across = PlainFold<R, T, L, kLooks>;
  using Along = LaneFold<R, T>;
};
template <class R>
struct Shared<BoolFold<R>> {
  using Again = HWY_NAMESPACE::Again<BoolFold<R>>;
  using Across = BoolFold<R>;
  using Along = LaneFold<R, std::uint8_t>;
};
template <class P>
struct Shared<Again<P>> {
  using Across = LaneFold<typename P::Reduce, typename P::Lane>;
  using Along = typename Shared<P>::Along;
};

template <class P>
using PlaneTag = hn::ScalableTag<typename P::Lane>;

// Whether elements have half the size of lanes and are split without moving any to another lane.
template <class P>
inline constexpr bool kSplits = requires(PlaneTag<P> d, Halves<typename P::In, PlaneTag<P>> h, hn::Vec<PlaneTag<P>> v) {
  P::split(d, h, v, v);
};

// What P::lower divides by, in vectors.
template <class P>
HWY_INLINE auto divisor_of(const PlaneLowering& b) {
  const PlaneTag<P> d;
  if constexpr (requires { P::by(d, b); })
    return P::by(d, b);
  else
    return hn::Set(hn::Rebind<typename P::By, PlaneTag<P>>(), static_cast<typename P::By>(b.divisor));
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
