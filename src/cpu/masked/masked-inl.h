// The fold of small planes, across their rows and then along them. Included once per target.
#if defined(ORIEL_CPU_MASKED_MASKED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_MASKED_MASKED_INL_H
#undef ORIEL_CPU_MASKED_MASKED_INL_H
#else
#define ORIEL_CPU_MASKED_MASKED_INL_H
#endif

#include <cstring>

#include "cpu/element/taps-inl.h"
#include "cpu/masked/masked_kernels.h"
#include "instruction_set.h"

#if ORIEL_PLANES
HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Masks are bits where the instruction set has registers for them, else vectors of ones.
#if ORIEL_AVX512
inline constexpr index_t kMaskBytes = 8;
#else
inline constexpr index_t kMaskBytes = HWY_MAX_BYTES;
#endif

template <class D>
HWY_INLINE hn::Mask<D> mask_at(D d, const void* masks, index_t number) {
  const std::uint8_t* mask = static_cast<const std::uint8_t*>(masks) + number * kMaskBytes;
#if ORIEL_AVX512
  return hn::LoadMaskBits(d, mask);
#else
  return hn::MaskFromVec(hn::Load(d, reinterpret_cast<const hn::TFromD<D>*>(mask)));
#endif
}

template <class P>
void write_stack_mask(const std::uint8_t* valid, void* masks, index_t number) {
  const index_t lanes = lanes_of(PlaneTag<P>());
  std::uint8_t* mask = static_cast<std::uint8_t*>(masks) + number * kMaskBytes;
#if ORIEL_AVX512
  std::uint64_t bits = 0;
  for (index_t i = 0; i < lanes; ++i) bits |= static_cast<std::uint64_t>(valid[i]) << i;
  std::memcpy(mask, &bits, sizeof bits);
#else
  constexpr index_t kBytes = sizeof(typename P::Lane);
  for (index_t i = 0; i < lanes * kBytes; ++i) mask[i] = valid[i / kBytes] != 0 ? 0xff : 0;
#endif
}

// Whole planes as rows of inputs; every element is watched as the middle tap of the window that stands around it.
template <class P, int K>
HWY_NOINLINE bool across_flat(const PlaneStack& s) {
  const PlaneTag<P> d;
  const index_t lanes = lanes_of(d), n = s.x_pitch, vectors = (n + lanes - 1) / lanes;
  const int count = K > 0 ? K : s.across;
  const auto none = hn::Set(d, identity_of<P>(s));
  const typename P::In* x = static_cast<const typename P::In*>(s.x);
  typename P::Lane* to = static_cast<typename P::Lane*>(s.folded);
  index_t offset[kMaxFold];
  for (int t = 0; t < count; ++t) offset[t] = s.offset[t];
  Watch<P> watch;
  for (index_t p = 0; p < s.planes; ++p, x += n, to += s.folded_pitch) {
    for (index_t v = 0; v < vectors; ++v) {
      const index_t i = v + 1 < vectors ? v * lanes : n - lanes;
      const auto folded = fold_taps<P, K>(d, count, [&](int t) HWY_ATTR {
        auto tap = P::load(d, x + i + offset[t]);
        if (t == count / 2) {
          watch.see(tap);
          return P::lift(d, tap);
        }
        return hn::IfThenElse(mask_at(d, s.across_masks, v * count + t), P::lift(d, tap), none);
      });
      hn::StoreU(folded, d, to + i);
    }
  }
  return watch.found(s);
}

// Row by row. Vectors reach beyond rows; what they write there is written again, or never read.
template <class P, int K>
HWY_NOINLINE bool across_by_row(const PlaneStack& s) {
  using In = typename P::In;
  const PlaneTag<P> d;
  const index_t lanes = lanes_of(d);
  const int count = K > 0 ? K : s.across;
  const In* x = static_cast<const In*>(s.x);
  typename P::Lane* to = static_cast<typename P::Lane*>(s.folded);
  Watch<P> watch;
  for (index_t p = 0; p < s.planes; ++p, x += s.x_pitch, to += s.folded_pitch) {
    const index_t* offset = s.offset;
    for (index_t r = 0; r < s.rows; ++r, offset += count) {
      const In* taps[kMaxFold];
      for (int t = 0; t < count; ++t) {
        taps[t] = offset[t] == kStackAbsent ? static_cast<const In*>(s.absent) : x + offset[t];
      }
      for (index_t i = 0; i < s.in_elems; i += lanes) {
        const auto v = fold_taps<P, K>(d, count, [&](int t) HWY_ATTR {
          auto tap = P::load(d, taps[t] + i);
          if constexpr (P::kWatch) watch.see(tap);
          return P::lift(d, tap);
        });
        hn::StoreU(v, d, to + r * s.row_pitch + i);
      }
    }
  }
  return watch.found(s);
}

// Calls folded(from, i, number) for the vectors of each plane's outputs, and lowers and stores what it returns.
template <class P, class Folded>
HWY_INLINE void store_outputs(const PlaneStack& s, const Folded& folded) {
  const PlaneTag<P> d;
  const index_t lanes = lanes_of(d), n = s.out_elems, vectors = (n + lanes - 1) / lanes;
  const auto by = divisor_of<P>(s);
  typename P::Out* y = static_cast<typename P::Out*>(s.y);
  const typename P::Lane* from = static_cast<const typename P::Lane*>(s.folded) + s.begin;
  for (index_t p = 0; p < s.planes; ++p, y += n, from += s.folded_pitch) {
    for (index_t v = 0; v < vectors; ++v) {
      const index_t i = v + 1 < vectors ? v * lanes : n < lanes ? 0 : n - lanes;
      const auto lowered = P::lower(d, folded(from, i, v * s.along), s, by, i);
      if (n >= lanes)
        P::store(d, lowered, y + i);
      else
        P::store_some(d, lowered, y + i, n);
    }
  }
}

template <class P, int K>
HWY_NOINLINE void along_ones(const PlaneStack& s) {
  using Lane = typename P::Lane;
  const PlaneTag<P> d;
  const int count = K > 0 ? K : s.along;
  const auto none = hn::Set(d, identity_of<P>(s));
  store_outputs<P>(s, [&](const Lane* from, index_t i, index_t number) HWY_ATTR {
    return fold_taps<P, K>(d, count, [&](int t) HWY_ATTR {
      const auto tap = hn::LoadU(d, from + i + t * s.tap_pitch);
      return hn::IfThenElse(mask_at(d, s.along_masks, number + t), tap, none);
    });
  });
}

template <class P, int K>
HWY_NOINLINE void along_twos(const PlaneStack& s) {
  using Lane = typename P::Lane;
  const PlaneTag<P> d;
  using V = hn::Vec<decltype(d)>;
  const index_t lanes = lanes_of(d);
  const int count = K > 0 ? K : s.along;
  const V none = hn::Set(d, identity_of<P>(s));
  store_outputs<P>(s, [&](const Lane* from, index_t i, index_t number) HWY_ATTR {
    V low = none, high = none;  // of the pair of taps at hand
    return fold_taps<P, K>(d, count, [&](int t) HWY_ATTR {
      if (t % 2 == 0) {
        low = hn::LoadU(d, from + 2 * i + t);
        high = hn::LoadU(d, from + 2 * i + t + lanes);
      }
      const V tap = t % 2 == 0 ? hn::ConcatEven(d, high, low) : hn::ConcatOdd(d, high, low);
      return hn::IfThenElse(mask_at(d, s.along_masks, number + t), tap, none);
    });
  });
}

template <class P>
bool fold_stack(const PlaneStack& s) {
  bool found = false;
  with_taps<P>(s.across, [&](auto k) HWY_ATTR {
    constexpr int K = decltype(k)::value;
    found = s.flat ? across_flat<P, K>(s) : across_by_row<P, K>(s);
  });
  with_taps<P>(s.along, [&](auto k) HWY_ATTR {
    constexpr int K = decltype(k)::value;
    using Q = typename Shared<P>::Along;
    if (s.stride == 1)
      along_ones<Q, K>(s);
    else
      along_twos<Q, K>(s);
  });
  return found;
}

// `infinity`: the bits of a 16-bit float's.
template <class P>
StackKernel stack_kernel(std::int16_t infinity = 0) {
  StackKernel k;
  k.infinity = infinity;
  k.fold = &fold_stack<P>;
  k.write_mask = &write_stack_mask<P>;
  k.mask_bytes = kMaskBytes;
  k.in_bytes = sizeof(typename P::In);
  k.lane_bytes = sizeof(typename P::Lane);
  k.vector = lanes_of(PlaneTag<P>());
  PlaneLowering b;
  b.infinity = infinity;
  const typename P::In absent = absent_of<P>(b);
  std::memcpy(k.absent.data(), &absent, sizeof absent);
  return k;
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif  // ORIEL_PLANES
#endif
