// Extrema with their places: bests of a row's taps, then of rows. Strictly better wins, so the first tap of equals
// stays, its bits included (S4).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/argmax/argmax_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/argmax/argmax_kernels.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE index_t lanes_of(D d) {
  return static_cast<index_t>(hn::Lanes(d));
}

// kExact: a NaN is better than anything before it (S3).
template <class T, bool kMin, bool kExact>
struct Best {
  static constexpr hn::ScalableTag<T> d{};
  static constexpr hn::RebindToUnsigned<hn::ScalableTag<T>> du{};
  using Code = hn::TFromD<decltype(du)>;
  using V = hn::Vec<decltype(d)>;
  using VU = hn::Vec<decltype(du)>;

  static HWY_INLINE void take(V& best, VU& code, V v, VU v_code) {
    auto better = kMin ? hn::Lt(v, best) : hn::Gt(v, best);
    if constexpr (kExact) better = hn::Or(better, hn::IsNaN(v));
    best = hn::IfThenElse(better, v, best);
    code = hn::IfThenElse(hn::RebindMask(du, better), v_code, code);
  }

  // kVectors vectors of outputs from element i of the taps on.
  template <int kVectors>
  static HWY_INLINE void along_at(const T* const* taps, int count, int first, int grow, const Code* codes, index_t i,
                                  T* value, Code* code) {
    const index_t step = lanes_of(d);
    V best[kVectors];
    VU best_code[kVectors];
    VU tap = hn::Set(du, static_cast<Code>(first));
    for (int j = 0; j < kVectors; ++j) {
      best[j] = hn::LoadU(d, taps[0] + i + j * step);
      best_code[j] = codes == nullptr ? tap : hn::LoadU(du, codes + i + j * step);
    }
    const VU one = hn::Set(du, static_cast<Code>(grow));
    for (int t = 1; t < count; ++t) {
      tap = hn::Add(tap, one);
      const T* x = taps[t] + i;
      for (int j = 0; j < kVectors; ++j) take(best[j], best_code[j], hn::LoadU(d, x + j * step), tap);
    }
    for (int j = 0; j < kVectors; ++j) {
      hn::StoreU(best[j], d, value + j * step);
      hn::StoreU(best_code[j], du, code + j * step);
    }
  }

  static void along(const void* const* taps, int count, int first, int grow, const void* codes, index_t positions,
                    index_t n, index_t pitch, void* value, void* code) {
    const T* const* x = reinterpret_cast<const T* const*>(taps);
    const Code* c = static_cast<const Code*>(codes);
    const index_t step = lanes_of(d);
    for (index_t p = 0; p < positions; ++p) {
      T* v = static_cast<T*>(value) + p * n;
      Code* out = static_cast<Code*>(code) + p * n;
      const index_t at = p * pitch;
      index_t i = 0;
      for (; i + 4 * step <= n; i += 4 * step) along_at<4>(x, count, first, grow, c, at + i, v + i, out + i);
      for (; i + step <= n; i += step) along_at<1>(x, count, first, grow, c, at + i, v + i, out + i);
      if (i == n) continue;
      i = n >= step ? n - step : 0;
      along_at<1>(x, count, first, grow, c, at + i, v + i, out + i);
    }
  }

  template <int kVectors>
  static HWY_INLINE void across_at(const PlaceRow* rows, int count, index_t i, T* value, Code* code) {
    const index_t step = lanes_of(d);
    V best[kVectors];
    VU best_code[kVectors];
    const VU first = hn::Set(du, static_cast<Code>(rows[0].step));
    for (int j = 0; j < kVectors; ++j) {
      best[j] = hn::LoadU(d, static_cast<const T*>(rows[0].value) + i + j * step);
      best_code[j] = hn::Add(hn::LoadU(du, static_cast<const Code*>(rows[0].code) + i + j * step), first);
    }
    for (int r = 1; r < count; ++r) {
      const T* v = static_cast<const T*>(rows[r].value) + i;
      const Code* c = static_cast<const Code*>(rows[r].code) + i;
      const VU add = hn::Set(du, static_cast<Code>(rows[r].step));
      for (int j = 0; j < kVectors; ++j) {
        take(best[j], best_code[j], hn::LoadU(d, v + j * step), hn::Add(hn::LoadU(du, c + j * step), add));
      }
    }
    for (int j = 0; j < kVectors; ++j) {
      hn::StoreU(best[j], d, value + i + j * step);
      hn::StoreU(best_code[j], du, code + i + j * step);
    }
  }

  static void across(const PlaceRow* rows, int count, index_t n, void* value, void* code) {
    T* v = static_cast<T*>(value);
    Code* c = static_cast<Code*>(code);
    const index_t step = lanes_of(d);
    index_t i = 0;
    for (; i + 2 * step <= n; i += 2 * step) across_at<2>(rows, count, i, v, c);
    for (; i + step <= n; i += step) across_at<1>(rows, count, i, v, c);
    if (i < n) across_at<1>(rows, count, n >= step ? n - step : 0, v, c);
  }

  // kVectors vectors of outputs from element i on; kCount taps, or any number where that is 0.
  template <int kCount, int kVectors>
  static HWY_INLINE void window_at(const PlaceTap* taps, int count, const Code* codes, index_t i, V* best,
                                   VU* best_code) {
    const index_t step = lanes_of(d);
    const VU first = hn::Set(du, static_cast<Code>(taps[0].code));
    for (int j = 0; j < kVectors; ++j) {
      best[j] = hn::LoadU(d, static_cast<const T*>(taps[0].value) + i + j * step);
      best_code[j] = codes == nullptr ? first : hn::Add(first, hn::LoadU(du, codes + i + j * step));
    }
    const auto add = [&](int t) HWY_ATTR {
      const T* x = static_cast<const T*>(taps[t].value) + i;
      const VU tap = hn::Set(du, static_cast<Code>(taps[t].code));
      for (int j = 0; j < kVectors; ++j) take(best[j], best_code[j], hn::LoadU(d, x + j * step), tap);
    };
    if constexpr (kCount > 0) {
      for (int t = 1; t < kCount; ++t) add(t);
    } else {
      for (int t = 1; t < count; ++t) add(t);
    }
  }

  // Calls store(i, best, code) for vectors that cover n outputs; the last one overlaps, or reaches beyond fewer.
  template <int kCount, class Store>
  static HWY_INLINE void each_window(const PlaceTap* taps, int count, const Code* codes, index_t n,
                                     const Store& store) {
    const index_t step = lanes_of(d);
    V best[2];
    VU code[2];
    index_t i = 0;
    for (; i + 2 * step <= n; i += 2 * step) {
      window_at<kCount, 2>(taps, count, codes, i, best, code);
      store(i, best[0], code[0]);
      store(i + step, best[1], code[1]);
    }
    for (; i + step <= n; i += step) {
      window_at<kCount, 1>(taps, count, codes, i, best, code);
      store(i, best[0], code[0]);
    }
    if (i == n) return;
    i = n >= step ? n - step : 0;
    window_at<kCount, 1>(taps, count, codes, i, best, code);
    store(i, best[0], code[0]);
  }

  template <class Store>
  static HWY_INLINE void all_windows(const PlaceTap* taps, int count, const Code* codes, index_t n,
                                     const Store& store) {
    if constexpr (std::is_same_v<T, float> && !kExact) {  // the commonest
      if (count == 9) return each_window<9>(taps, count, codes, n, store);
      if (count == 4) return each_window<4>(taps, count, codes, n, store);
    }
    each_window<0>(taps, count, codes, n, store);
  }

  static void window(const PlaceTap* taps, int count, const void* codes, index_t n, void* value, void* code) {
    T* v = static_cast<T*>(value);
    Code* c = static_cast<Code*>(code);
    all_windows(taps, count, static_cast<const Code*>(codes), n, [=](index_t i, V best, VU best_code) HWY_ATTR {
      hn::StoreU(best, d, v + i);
      hn::StoreU(best_code, du, c + i);
    });
  }

  template <bool kStream>
  static HWY_INLINE void write_index(V best, VU best_code, const std::int32_t* base, std::int64_t origin, T* value,
                                     std::int64_t* index) {
    const hn::RebindToSigned<decltype(d)> di;
    hn::StoreU(best, d, value);
    const auto place = hn::Add(hn::BitCast(di, best_code), hn::LoadU(di, base));
#if HWY_TARGET == HWY_SCALAR
    *index = origin + hn::GetLane(place);
#else
    const hn::Repartition<std::int64_t, decltype(di)> d64;
    const hn::Half<decltype(di)> half;
    const auto from = hn::Set(d64, origin);
    const auto low = hn::Add(hn::PromoteTo(d64, hn::LowerHalf(half, place)), from);
    const auto high = hn::Add(hn::PromoteTo(d64, hn::UpperHalf(half, place)), from);
    if constexpr (kStream) {
      hn::Stream(low, d64, index);
      hn::Stream(high, d64, index + lanes_of(d64));
    } else {
      hn::StoreU(low, d64, index);
      hn::StoreU(high, d64, index + lanes_of(d64));
    }
#endif
  }

  static void indexed(const PlaceTap* taps, int count, const void* codes, index_t n, void* value,
                      const std::int32_t* base, std::int64_t origin, bool stream, std::int64_t* index) {
    if constexpr (sizeof(T) == 4) {
      T* v = static_cast<T*>(value);
      const Code* c = static_cast<const Code*>(codes);
      const bool lines = n * 8 % 64 == 0 && reinterpret_cast<std::uintptr_t>(index) % 64 == 0;
      if (stream && lines) {
        all_windows(taps, count, c, n, [=](index_t i, V best, VU code) HWY_ATTR {
          write_index<true>(best, code, base + i, origin, v + i, index + i);
        });
      } else {
        all_windows(taps, count, c, n, [=](index_t i, V best, VU code) HWY_ATTR {
          write_index<false>(best, code, base + i, origin, v + i, index + i);
        });
      }
    }
  }
};

// Lanes of order as they are, watched for NaN where T floats.
template <class T, bool kWatch>
struct Plain {
  using Lane = T;
  template <class D>
  static HWY_INLINE hn::Vec<D> lift(D, hn::Vec<D> v, hn::Mask<D>& bad) {
    if constexpr (kWatch) bad = hn::Or(bad, hn::IsNaN(v));
    return v;
  }
  static HWY_INLINE T lift_one(T v, bool& bad) {
    if constexpr (kWatch) bad |= v != v;
    return v;
  }
};

// f16 and bf16 as integers of the same order, watched for NaN and negative zeros.
template <std::int16_t kInfinity>
struct Key {
  using Lane = std::int16_t;
  static constexpr std::int16_t kLowest = -0x7fff - 1;
  template <class D>
  static HWY_INLINE hn::Vec<D> lift(D d, hn::Vec<D> v, hn::Mask<D>& bad) {
    const auto most = hn::Set(d, std::int16_t{0x7fff});
    bad = hn::Or(bad, hn::Or(hn::Gt(hn::And(v, most), hn::Set(d, kInfinity)), hn::Eq(v, hn::Set(d, kLowest))));
    return hn::Xor(v, hn::And(hn::ShiftRight<15>(v), most));
  }
  static HWY_INLINE std::int16_t lift_one(std::int16_t v, bool& bad) {
    bad |= (v & 0x7fff) > kInfinity || v == kLowest;
    return static_cast<std::int16_t>(v ^ ((v >> 15) & 0x7fff));
  }
};

// Rows are short, which the hardware's prefetchers follow badly.
constexpr index_t kAheadBytes = 2048;

// Groups of kStep adjacent elements: the first `groups`, a vector of groups at a time, the last one overlapping. False
// when there are less than that.
template <class L, int kStep, class D>
HWY_INLINE bool lift_groups(D d, const typename L::Lane* x, index_t groups, void* const* rows, bool& bad) {
  using T = typename L::Lane;
  const index_t step = lanes_of(d);
  if (groups < step) return false;
  auto seen = hn::MaskFromVec(hn::Zero(d));
  T* out[kStep];
  for (int k = 0; k < kStep; ++k) out[k] = static_cast<T*>(rows[k]);
  for (index_t m = 0; m < groups; m += step) {
    m = HWY_MIN(m, groups - step);
    hn::Vec<D> v[4];
    for (index_t b = 0; b < step * kStep * static_cast<index_t>(sizeof(T)); b += 64) {
      hwy::Prefetch(reinterpret_cast<const char*>(x + m * kStep) + kAheadBytes + b);
    }
    if constexpr (kStep == 1) {
      v[0] = hn::LoadU(d, x + m);
    } else if constexpr (kStep == 2) {
      hn::LoadInterleaved2(d, x + 2 * m, v[0], v[1]);
    } else if constexpr (kStep == 3) {
      hn::LoadInterleaved3(d, x + 3 * m, v[0], v[1], v[2]);
    } else {
      hn::LoadInterleaved4(d, x + 4 * m, v[0], v[1], v[2], v[3]);
    }
    for (int k = 0; k < kStep; ++k) hn::StoreU(L::lift(d, v[k], seen), d, out[k] + m);
  }
  bad |= !hn::AllFalse(d, seen);
  return true;
}

// As many elements of a row as make whole groups; returns how many that were.
template <class L, int kStep>
HWY_INLINE index_t lift_vectors(const typename L::Lane* x, index_t n, void* const* rows, bool& bad) {
  using T = typename L::Lane;
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 16 / sizeof(T)> few;
  const index_t groups = n / kStep;
  if constexpr (hn::MaxLanes(d) > 1) {
    if (lift_groups<L, kStep>(d, x, groups, rows, bad)) return groups * kStep;
    if (lift_groups<L, kStep>(few, x, groups, rows, bad)) return groups * kStep;
  }
  return 0;
}

template <class L>
bool lift_places(const void* data, index_t n, int step, void* const* rows) {
  using T = typename L::Lane;
  const T* x = static_cast<const T*>(data);
  bool bad = false;
  index_t i = 0;
  if (step == 1) i = lift_vectors<L, 1>(x, n, rows, bad);
  if (step == 2) i = lift_vectors<L, 2>(x, n, rows, bad);
  if (step == 3) i = lift_vectors<L, 3>(x, n, rows, bad);
  if (step == 4) i = lift_vectors<L, 4>(x, n, rows, bad);
  for (index_t m = i / step; i < n; ++m) {
    for (int k = 0; k < step && i < n; ++k, ++i) static_cast<T*>(rows[k])[m] = L::lift_one(x[i], bad);
  }
  return bad;
}

// f16 and bf16 as f32, for rows that keys do not suit.
template <class X>
bool lift_widened(const void* data, index_t n, int step, void* const* rows) {
  const X* x = static_cast<const X*>(data);
  index_t i = 0;
  for (index_t m = 0; i < n; ++m) {
    for (int k = 0; k < step && i < n; ++k, ++i) static_cast<float*>(rows[k])[m] = static_cast<float>(x[i]);
  }
  return false;
}

// What codes say, see WriteIndices: store(i, place).
template <class Code, class Store>
HWY_INLINE void each_place(const void* code, index_t n, const std::int32_t* step, const Store& store) {
  const Code* HWY_RESTRICT c = static_cast<const Code*>(code);
  if constexpr (sizeof(Code) >= 4) {
    for (index_t i = 0; i < n; ++i) store(i, static_cast<std::int32_t>(c[i]));
    return;
  }
  const std::int32_t step0 = step[0], step1 = step[1], step2 = step[2];
  constexpr std::int32_t kDigit = (1 << kPlaceBits) - 1;
  for (index_t i = 0; i < n; ++i) {
    const std::int32_t digits = static_cast<std::int32_t>(c[i]);
    store(i,
          (digits & kDigit) * step0 + ((digits >> kPlaceBits) & kDigit) * step1 + (digits >> (2 * kPlaceBits)) * step2);
  }
}

template <class Code>
void write_indices(const void* code, const std::int32_t* HWY_RESTRICT base, index_t n, std::int64_t origin,
                   const std::int32_t* step, std::int64_t* HWY_RESTRICT index) {
  each_place<Code>(code, n, step, [=](index_t i, std::int32_t place) { index[i] = origin + base[i] + place; });
}

template <class Code, class Index>
void write_codes(const void* code, index_t n, const std::int32_t* step, void* out) {
  Index* HWY_RESTRICT index = static_cast<Index*>(out);
  each_place<Code>(code, n, step, [=](index_t i, std::int32_t place) { index[i] = static_cast<Index>(place); });
}

template <class T, bool kExact>
PlaceKernels with(Op op, LiftPlaces lift, bool in_place) {
  PlaceKernels k;
  k.value_bytes = sizeof(T);
  k.vector_bytes = lanes_of(hn::ScalableTag<T>()) * k.value_bytes;
  k.in_place = in_place;
  k.lift = lift;
  k.along = op == Op::min ? &Best<T, true, kExact>::along : &Best<T, false, kExact>::along;
  k.across = op == Op::min ? &Best<T, true, kExact>::across : &Best<T, false, kExact>::across;
  k.window = op == Op::min ? &Best<T, true, kExact>::window : &Best<T, false, kExact>::window;
  if (sizeof(T) == 4) k.indexed = op == Op::min ? &Best<T, true, kExact>::indexed : &Best<T, false, kExact>::indexed;
  using Code = typename Best<T, false, kExact>::Code;
  k.write = &write_indices<Code>;
  k.write_u8 = &write_codes<Code, std::uint8_t>;
  k.write_i32 = &write_codes<Code, std::int32_t>;
  return k;
}

template <class T>
PlaceKernels floating(Op op, bool exact) {
  return exact ? with<T, true>(op, &lift_places<Plain<T, false>>, true)
               : with<T, false>(op, &lift_places<Plain<T, true>>, true);
}

template <class T>
PlaceKernels integer(Op op) {
  return with<T, false>(op, &lift_places<Plain<T, false>>, true);
}

PlaceKernels places(Op op, Dtype dtype, bool exact) {
  switch (dtype) {
    case Dtype::f64:
      return floating<double>(op, exact);
    case Dtype::f32:
      return floating<float>(op, exact);
    case Dtype::f16:
      if (exact) return with<float, true>(op, &lift_widened<half>, false);
      return with<std::int16_t, false>(op, &lift_places<Key<0x7c00>>, false);
    case Dtype::bf16:
      if (exact) return with<float, true>(op, &lift_widened<bfloat16>, false);
      return with<std::int16_t, false>(op, &lift_places<Key<0x7f80>>, false);
    case Dtype::u8:
      return integer<std::uint8_t>(op);
    case Dtype::i8:
      return integer<std::int8_t>(op);
    case Dtype::u16:
      return integer<std::uint16_t>(op);
    case Dtype::i16:
      return integer<std::int16_t>(op);
    case Dtype::u32:
      return integer<std::uint32_t>(op);
    case Dtype::i32:
      return integer<std::int32_t>(op);
    case Dtype::u64:
      return integer<std::uint64_t>(op);
    case Dtype::i64:
      return integer<std::int64_t>(op);
    default:
      return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(places);
}
const ArgmaxTable& argmax_table() {
  static const PerTarget<ArgmaxTable> tables{
      [](ArgmaxTable& table, std::size_t which) { table.places = HWY_DISPATCH_TABLE(places)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
