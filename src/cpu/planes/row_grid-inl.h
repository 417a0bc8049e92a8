// Rows of inputs as vectors on a grid that begins where the first window does. Included once per target.
#if defined(ORIEL_CPU_PLANES_ROW_GRID_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_PLANES_ROW_GRID_INL_H
#undef ORIEL_CPU_PLANES_ROW_GRID_INL_H
#else
#define ORIEL_CPU_PLANES_ROW_GRID_INL_H
#endif

#include "cpu/element/traits-inl.h"
#include "cpu/planes/plane_kernels.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void prefetch_rows(const PlaneBand& b, index_t row, index_t bytes) {
  constexpr index_t kAhead = 4096, kLine = 64;  // rows are short and several at a time: the hardware follows badly
  const void* const* end = b.taps + (row + 1) * b.across;
  for (const void* const* tap = end - b.ahead_taps; tap != end; ++tap) {
    const char* soon = static_cast<const char*>(*tap) + kAhead;
    for (index_t i = 0; i < bytes; i += kLine) __builtin_prefetch(soon + i);
  }
}

// Whether there are masks, and permutations of the lanes of two vectors.
template <class P>
inline constexpr bool kFuses = ORIEL_AVX512&& std::is_same_v<typename P::In, typename P::Lane> &&
                               (std::is_floating_point_v<typename P::Lane> ||
                                std::is_same_v<typename P::Lane, std::int16_t> ||
                                (std::is_same_v<typename P::Lane, std::uint8_t> && ORIEL_AVX512_BYTES));

// Whether the first window begins in the first vector or before it, by less than one.
template <class P>
HWY_INLINE bool has_grid(const PlaneBand& b) {
  return kFuses<P> && b.begin <= 0 && b.begin > -lanes_of(PlaneTag<P>());
}

#if ORIEL_AVX512
template <class P>
class RowGrid {
  using T = typename P::Lane;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using U = hn::TFromD<hn::RebindToUnsigned<D>>;
  using Mask = hn::Mask<D>;

 public:
  static constexpr index_t kLanes = hn::MaxLanes(D());
  using Index = hn::Vec<hn::RebindToUnsigned<D>>;

  HWY_INLINE explicit RowGrid(const PlaneBand& b)
      : absent_(absent_of<P>(b)),
        full_begin_(b.begin < 0 ? 1 : 0),
        full_end_((b.in_elems - b.begin) / kLanes),
        in_end_((b.in_elems - b.begin + kLanes - 1) / kLanes),
        first_(hn::AndNot(first_n(-b.begin), first_n(b.in_elems - b.begin))),
        last_(first_n(b.in_elems - b.begin - full_end_ * kLanes)) {}

  // Whether vector c lies in the rows, whole, or behind them.
  HWY_INLINE bool whole(index_t c) const { return c >= full_begin_ && c < full_end_; }
  HWY_INLINE bool behind(index_t c) const { return c >= in_end_; }

  // Vector c of a row whose grid begins at `row`: one that is whole, or any that is not behind it.
  static HWY_INLINE V load(const T* row, index_t c) { return hn::LoadU(D(), row + c * kLanes); }
  HWY_INLINE V load_some(const T* row, index_t c) const {
    const D d;
    const Mask mask = c == 0 && full_begin_ == 1 ? first_ : last_;
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, row + c * kLanes), hn::Set(d, absent()));
  }

  // Of two_tables: which lanes stand `by` further.
  static HWY_INLINE Index shift(index_t by) {
    const hn::RebindToUnsigned<D> du;
    return hn::Add(hn::Iota(du, U{0}), hn::Set(du, static_cast<U>(by)));
  }

  // Vector `j` of results, of which those from b.out_elems on are none.
  static HWY_INLINE void store(const PlaneBand& b, V v, index_t j, typename P::Out* y) {
    const D d;
    const index_t left = b.out_elems - j;
    if (left >= kLanes)
      P::store(d, v, y + j);
    else
      P::store_some(d, v, y + j, left);
  }

 private:
  HWY_INLINE T absent() const {
    if constexpr (requires { P::absent(T{}); })
      return absent_;  // of one infinity or another
    else
      return P::absent();
  }
  static HWY_INLINE Mask first_n(index_t n) {
    return hn::FirstN(D(), static_cast<std::size_t>(n < 0 ? 0 : n < kLanes ? n : kLanes));
  }

  T absent_;
  index_t full_begin_, full_end_, in_end_;
  Mask first_, last_;  // of the first vector and of the last that has inputs
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
