// Extrema over long windows, per instruction set. Across rows by van Herk's and Gil and Werman's way: a window is the
// end of one block of `kernel` rows and the beginning of the next. Along a row by doubling.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sliding/van_herk.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/fold-inl.h"
#include "cpu/sliding/halving-inl.h"
#include "cpu/sliding/sliding_kernels.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// Remembers whether a NaN or a negative zero has been seen. Nothing of integers is watched.
template <class D, bool kFloating = std::is_floating_point_v<hn::TFromD<D>>>
class BlockWatch {
 public:
  explicit HWY_INLINE BlockWatch(D) {}
  HWY_INLINE void see(hn::Vec<D>) {}
  HWY_INLINE bool found() const { return false; }
};

#if ORIEL_AVX512
template <class D>
HWY_INLINE unsigned special_lanes(D, hn::Vec<D> v) {
  constexpr int kSpecial = 0x85;  // quiet NaN, signalling NaN, -0
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return _mm512_fpclass_ps_mask(v.raw, kSpecial);
  else
    return _mm512_fpclass_pd_mask(v.raw, kSpecial);
}
#endif

template <class D>
class BlockWatch<D, true> {
  using DI = hn::RebindToSigned<D>;
  using S = hn::TFromD<DI>;
#if ORIEL_AVX512
  static constexpr bool kByClass = hn::MaxLanes(D()) * sizeof(S) == 64;
#else
  static constexpr bool kByClass = false;
#endif

 public:
  explicit HWY_INLINE BlockWatch(D) : magnitude_(hn::Zero(DI())), least_(hn::Zero(DI())) {}
  HWY_INLINE void see(hn::Vec<D> v) {
    if constexpr (kByClass) {
#if ORIEL_AVX512
      seen_ |= special_lanes(D(), v);
#endif
    } else {
      const auto bits = hn::BitCast(DI(), v);
      magnitude_ = hn::Max(magnitude_, hn::And(bits, hn::Set(DI(), highest_value<S>())));
      least_ = hn::Min(least_, bits);
    }
  }
  HWY_INLINE bool found() const {
    if constexpr (kByClass) return seen_ != 0;
    constexpr S kInfinity = std::bit_cast<S>(std::numeric_limits<hn::TFromD<D>>::infinity());
    const auto nan = hn::Gt(magnitude_, hn::Set(DI(), kInfinity));
    const auto zero = hn::Eq(least_, hn::Set(DI(), lowest_value<S>()));
    return !hn::AllFalse(DI(), hn::Or(nan, zero));
  }

 private:
  hn::Vec<DI> magnitude_, least_;
  unsigned seen_ = 0;
};

// Rows are read a strip at a time, which the hardware does not foresee: a strip ahead, into the second cache.
template <class T>
HWY_INLINE void prefetch_strip(const T* x, index_t bytes) {
  const char* line = reinterpret_cast<const char*>(x) + bytes;
  for (index_t b = 0; b < bytes; b += 64) __builtin_prefetch(line + b, 0, 2);
}

// One strip of kVectors vectors at element i; h keeps the ends of the first block.
template <class R, int kVectors, bool kWatchAll, class D>
HWY_INLINE bool fold_strip(D d, const LongRows& b, index_t i, hn::TFromD<D>* HWY_RESTRICT h) {
  using T = hn::TFromD<D>;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d)), strip = kVectors * lanes;
  const auto at = [&](index_t r) HWY_ATTR { return static_cast<const T*>(b.rows[r]) + i; };
  BlockWatch<D> watch(d);
  hn::Vec<D> acc[kVectors];
  const T* x = at(b.kernel - 1);
  for (int v = 0; v < kVectors; ++v) {
    acc[v] = hn::LoadU(d, x + v * lanes);
    watch.see(acc[v]);
  }
  for (index_t r = b.kernel - 1; r > 0; --r) {
    x = at(r - 1);
    const bool kept = r < b.windows && b.out[r] != nullptr;
    T* HWY_RESTRICT to = h + r * strip;
    for (int v = 0; v < kVectors; ++v) {
      const auto in = hn::LoadU(d, x + v * lanes);
      watch.see(in);
      if (kept) hn::StoreU(acc[v], d, to + v * lanes);
      acc[v] = R::combine(acc[v], in);
    }
  }
  T* HWY_RESTRICT first = static_cast<T*>(b.out[0]) + i;
  for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[v], d, first + v * lanes);
  if (b.windows == 1) return watch.found();
  x = at(b.kernel);
  for (int v = 0; v < kVectors; ++v) {
    acc[v] = hn::LoadU(d, x + v * lanes);
    if (kWatchAll) watch.see(acc[v]);
  }
  for (index_t w = 1; w < b.windows; ++w) {
    const T* end = h + w * strip;
    if (b.out[w] != nullptr) {
      T* HWY_RESTRICT out = static_cast<T*>(b.out[w]) + i;
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(R::combine(acc[v], hn::LoadU(d, end + v * lanes)), d, out + v * lanes);
      }
    }
    if (w + 1 == b.windows) break;
    x = at(b.kernel + w);
    if constexpr (kVectors > 1) prefetch_strip(x, strip * static_cast<index_t>(sizeof(T)));
    for (int v = 0; v < kVectors; ++v) {
      const auto in = hn::LoadU(d, x + v * lanes);
      if (kWatchAll) watch.see(in);
      acc[v] = R::combine(acc[v], in);
    }
  }
  return watch.found();
}

template <class R, class T, bool kWatchAll>
bool fold_block_of(const LongRows& b) {
  const hn::ScalableTag<T> d;
  const index_t strip = kStripVectors * static_cast<index_t>(hn::Lanes(d));
  T* h = static_cast<T*>(b.scratch);
  bool found = false;
  index_t i = 0;
  for (; i + strip <= b.n; i += strip) found |= fold_strip<R, kStripVectors, kWatchAll>(d, b, i, h);
  if (b.n >= static_cast<index_t>(hn::Lanes(d))) {
    for (; i < b.n; i += static_cast<index_t>(hn::Lanes(d))) {
      const index_t last = b.n - static_cast<index_t>(hn::Lanes(d));
      found |= fold_strip<R, 1, kWatchAll>(d, b, i < last ? i : last, h);
    }
    return found;
  }
  cover<T>(b.n, [&](auto few, index_t at) HWY_ATTR { found |= fold_strip<R, 1, kWatchAll>(few, b, at, h); });
  return found;
}

template <class T>
bool copy_block(const LongRows& b) {
  const hn::ScalableTag<T> d;
  BlockWatch<decltype(d)> whole(d);
  bool found = false;
  copy_rows<T>(b, [&](auto few, auto v) HWY_ATTR {
    if constexpr (hn::MaxLanes(few) == hn::MaxLanes(d)) {
      whole.see(v);
    } else {
      BlockWatch<decltype(few)> watch(few);
      watch.see(v);
      found |= watch.found();
    }
  });
  return found || whole.found();
}

template <class R, class T>
bool fold_block(const LongRows& b) {
  if (b.kernel == 1) return copy_block<T>(b);
  if (std::is_floating_point_v<T> && b.watch_all) return fold_block_of<R, T, true>(b);
  return fold_block_of<R, T, false>(b);
}

// out[i] = the fold of kTaps vectors of `from`, of which the last is `last` elements ahead and the others `move` apart.
template <class R, int kTaps, class D>
HWY_INLINE hn::Vec<D> fold_ahead(D d, const hn::TFromD<D>* from, index_t move, index_t last) {
  auto acc = hn::LoadU(d, from);
  for (int t = 1; t + 1 < kTaps; ++t) acc = R::combine(acc, hn::LoadU(d, from + t * move));
  return R::combine(acc, hn::LoadU(d, from + last));
}

template <class R, int kTaps, class T>
HWY_INLINE void fold_last(const T* from, index_t n, index_t move, index_t last, T* HWY_RESTRICT out) {
  cover<T>(n,
           [&](auto d, index_t i) HWY_ATTR { hn::StoreU(fold_ahead<R, kTaps>(d, from + i, move, last), d, out + i); });
}

template <class R, class T>
void slide_extremum(const LongRow& s) {
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  const T* from = static_cast<const T*>(s.row);
  T* kept = static_cast<T*>(s.scratch);
  index_t m = 1;
  for (; 4 * m < s.kernel; m *= 4) {  // in place from the second time on: what is read lies ahead of what is written
    const index_t move = m * s.move, length = s.n + (s.kernel - 4 * m) * s.move;
    for (index_t i = 0; i < length; i += lanes) {
      hn::StoreU(fold_ahead<R, 4>(d, from + i, move, 3 * move), d, kept + i);
    }
    from = kept;
  }
  T* out = static_cast<T*>(s.out);
  const index_t move = m * s.move, last = (s.kernel - m) * s.move;
  if (s.kernel <= 2 * m) return fold_last<R, 2>(from, s.n, move, last, out);
  if (s.kernel <= 3 * m) return fold_last<R, 3>(from, s.n, move, last, out);
  fold_last<R, 4>(from, s.n, move, last, out);
}

template <class R, class T>
void fold_along(const LongRow& s) {
  if (s.step == 1) return slide_extremum<R, T>(s);
  fold_steps<R, T>(s, [](const LongRow& row) HWY_ATTR { slide_extremum<R, T>(row); });
}

template <class R>
LongKernels long_of(Lane lane) {
  switch (lane) {
    case Lane::u8:
      return {&fold_block<R, std::uint8_t>, &fold_along<R, std::uint8_t>};
    case Lane::i8:
      return {&fold_block<R, std::int8_t>, &fold_along<R, std::int8_t>};
    case Lane::u16:
      return {&fold_block<R, std::uint16_t>, &fold_along<R, std::uint16_t>};
    case Lane::i16:
      return {&fold_block<R, std::int16_t>, &fold_along<R, std::int16_t>};
    case Lane::u32:
      return {&fold_block<R, std::uint32_t>, &fold_along<R, std::uint32_t>};
    case Lane::i32:
      return {&fold_block<R, std::int32_t>, &fold_along<R, std::int32_t>};
    case Lane::f32:
      return {&fold_block<R, float>, &fold_along<R, float>};
    case Lane::f64:
      return {&fold_block<R, double>, &fold_along<R, double>};
    default:
      return {};  // 64-bit integers are not worth the code
  }
}

LongKernels long_extremum(Op op, Lane lane) { return op == Op::min ? long_of<Min>(lane) : long_of<Max>(lane); }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(long_extremum);
}
void fill_long_extremum(SlidingTable& table, std::size_t which) {
  table.extremum = HWY_DISPATCH_TABLE(long_extremum)[which];
}
}  // namespace oriel::cpu
#endif
