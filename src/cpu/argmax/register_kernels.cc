// The first best of windows and its tap, in registers. Strictly better wins, so the first tap of equals stays, its bits
// included (S4); what this order does not decide is watched for (S3).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/argmax/register_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/argmax/code_order-inl.h"
#include "cpu/argmax/register_kernels.h"
#include "cpu/simd/register-inl.h"
#include "hwy/cache_control.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if ORIEL_AVX2

// Vectors of values and of the codes beside them.
template <class O>
struct Codes {
  using T = typename O::Lane;
  using D = hn::ScalableTag<T>;
  using DU = hn::RebindToUnsigned<D>;
  using V = hn::Vec<D>;
  using VU = hn::Vec<DU>;
  using Mask = hn::Mask<D>;
  static constexpr index_t kLanes = hn::MaxLanes(D());

  struct Best {
    V value;
    VU code;
  };

  static HWY_INLINE VU repeated(std::uint64_t code) {
    return hn::BitCast(DU(), hn::Set(hn::Repartition<std::uint64_t, DU>(), code));
  }

  static HWY_INLINE void take(Best& best, V v, VU code) {
    const auto better = O::kIsMin ? hn::Lt(v, best.value) : hn::Gt(v, best.value);
    best.value = hn::IfThenElse(better, v, best.value);
    best.code = hn::IfThenElse(hn::RebindMask(DU(), better), code, best.code);
  }

  // The codes of a row grow by `add`.
  static HWY_INLINE void take_row(Best& best, const Best& row, VU add) {
    const auto better = O::kIsMin ? hn::Lt(row.value, best.value) : hn::Gt(row.value, best.value);
    best.value = hn::IfThenElse(better, row.value, best.value);
#if ORIEL_AVX512
    if constexpr (sizeof(T) == 4) {
      best.code = VU{_mm512_mask_add_epi32(best.code.raw, better.raw, row.code.raw, add.raw)};
    } else if constexpr (sizeof(T) == 8) {
      best.code = VU{_mm512_mask_add_epi64(best.code.raw, better.raw, row.code.raw, add.raw)};
    } else {
      best.code = VU{_mm512_mask_add_epi16(best.code.raw, better.raw, row.code.raw, add.raw)};
    }
#else
    best.code = hn::IfThenElse(hn::RebindMask(DU(), better), hn::Add(row.code, add), best.code);
#endif
  }

  static HWY_INLINE Mask first_n(index_t n) {
    return hn::FirstN(D(), static_cast<std::size_t>(n < 0 ? 0 : n < kLanes ? n : kLanes));
  }
};

// Taps along rows that codes have kernels for: others than f32 cost more time to compile than they are worth.
template <class O>
constexpr int kMostAlong = std::is_same_v<typename O::Lane, float> ? 5 : 3;

// A vector of outputs of every row of a band: the same columns, row after row. K taps along by steps of S; kRing:
// windows that ascend by S rows of K. kEdge: some taps do not exist, or there are fewer outputs.
// kIndex: with indices instead of codes.
template <class O, int K, int S, bool kRing, bool kEdge, bool kIndex>
class CodeColumn {
  using C = Codes<O>;
  using T = typename C::T;
  using D = typename C::D;
  using DU = typename C::DU;
  using V = typename C::V;
  using VU = typename C::VU;
  using Mask = typename C::Mask;
  using Best = typename C::Best;
  static constexpr index_t kLanes = C::kLanes;

 public:
  HWY_INLINE CodeColumn(const CodeBand& b, index_t column) : b_(b), column_(column), from_(b.first + column * S) {
    const hn::RebindToSigned<D> di;
    first_ = hn::Zero(DU());
    if constexpr (kIndex) {
      const PlaceTag dp;
      using P = hn::TFromD<PlaceTag>;
      const auto number = hn::Add(hn::Iota(dp, P{0}), hn::Set(dp, static_cast<P>(column)));
      columns_ = hn::Mul(number, hn::Set(dp, static_cast<P>(b.step)));
    }
    if constexpr (kEdge) {
      for (int l = 0; l < kLoads; ++l) {
        const index_t at = from_ + offset_of(l);
        mask_[l] = hn::AndNot(C::first_n(-at), C::first_n(b.in - at));
      }
      store_ = C::first_n(b.out - column);
      if (from_ < 0) {  // tap 0 of output i looks at from + i * S: the first taps that exist
        using I = hn::TFromD<decltype(di)>;
        const auto before = hn::Mul(hn::Iota(di, I{0}), hn::Set(di, I{S}));
        const auto missing = hn::Max(hn::Sub(hn::Set(di, static_cast<I>(-from_)), before), hn::Zero(di));
        first_ = hn::BitCast(DU(), hn::Mul(missing, hn::Set(di, static_cast<I>(b.tap_step))));
      }
    }
  }

  HWY_INLINE Special<O> fold(Special<O> special) {
    const CodeRow* row = b_.row;
    T* y = static_cast<T*>(b_.y) + column_;
    VU tap[K];
    for (int t = 1; t < K; ++t) tap[t] = hn::Set(DU(), static_cast<hn::TFromD<DU>>(t * b_.tap_step));
    Best ring[K];
    for (index_t r = 0; r < b_.rows; ++r, row += b_.across, y += b_.y_pitch) {
      Best best;
      if constexpr (kRing) {
        for (int t = 0; t < K - S; ++t) ring[t] = r == 0 ? along(row[t].offset, tap, special) : ring[t + S];
        for (int t = K - S; t < K; ++t) ring[t] = along(row[t].offset, tap, special);
        best = ring[0];
        if (row[0].code != 0) best.code = hn::Add(best.code, C::repeated(row[0].code));
        for (int t = 1; t < K; ++t) C::take_row(best, ring[t], C::repeated(row[t].code));
      } else {
        best = along(row[0].offset, tap, special);
        if (row[0].code != 0) best.code = hn::Add(best.code, C::repeated(row[0].code));
        for (int t = 1; t < b_.across; ++t) {
          C::take_row(best, along(row[t].offset, tap, special), C::repeated(row[t].code));
        }
      }
      __builtin_prefetch(y + b_.rows * b_.y_pitch, 1);
      if constexpr (kIndex)
        store_index(best, r, y);
      else {
        std::uint8_t* code = b_.code + r * b_.code_pitch + column_;
        __builtin_prefetch(code + b_.rows * b_.code_pitch, 1);
        store(best, y, code);
      }
    }
    return special;
  }

 private:
  using PlaceTag = hn::ScalableTag<std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>>;
  using IndexTag = hn::ScalableTag<std::int64_t>;
  static constexpr index_t kIndices = hn::MaxLanes(IndexTag());
  // Loads of a row: K of a step of 1, otherwise two for every two taps.
  static constexpr int kLoads = S == 1 ? K : 2 * ((K + 1) / 2);
  static constexpr index_t offset_of(int load) { return S == 1 ? load : load / 2 * 2 + load % 2 * kLanes; }

  HWY_INLINE V load(const T* row, int l) const {
    const D d;
    const T* at = row + from_ + offset_of(l);
    V v;
    if constexpr (kEdge) {
      v = load_or(hn::Set(d, raw_worst()), mask_[l], at);
    } else {
      v = hn::LoadU(d, at);
    }
    if constexpr (K == 3 && S == 2) keep_in_register(v);  // a tenth; other windows take no less
    return O::lift(d, v);
  }
  // Nothing of lanes that the mask leaves out is read.
  static HWY_INLINE V load_or(V other, Mask mask, const T* from) {
#if ORIEL_AVX512
    if constexpr (std::is_same_v<T, float>)
      return V{_mm512_mask_loadu_ps(other.raw, mask.raw, from)};
    else if constexpr (std::is_same_v<T, double>)
      return V{_mm512_mask_loadu_pd(other.raw, mask.raw, from)};
    else
      return V{_mm512_mask_loadu_epi16(other.raw, mask.raw, from)};
#else
    static_assert(sizeof(T) >= 4);
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, D(), from), other);
#endif
  }
  static constexpr T raw_worst() {
    constexpr T w = O::worst();
    if constexpr (O::kLifts)
      return static_cast<T>(w ^ ((w >> 15) & 0x7fff));
    else
      return w;
  }

  HWY_INLINE Best along(index_t offset, const VU* tap, Special<O>& special) const {
    const D d;
    const T* row = reinterpret_cast<const T*>(b_.x + offset);
    hwy::Prefetch(b_.x + offset + b_.ahead + from_ * static_cast<index_t>(sizeof(T)));
    if constexpr (S == 2) hwy::Prefetch(b_.x + offset + b_.ahead + from_ * static_cast<index_t>(sizeof(T)) + 64);
    V v[K + 1];
    if constexpr (S == 1) {
      for (int t = 0; t < K; ++t) v[t] = load(row, t);
      special.see(v[0], v[K - 1]);
    } else {
      for (int t = 0; t < K; t += 2) {
        const V low = load(row, t), high = load(row, t + 1);
        if (t == 0) special.see(low, high);
        if constexpr (kEdge) {
          if (t > 0) special.see(low, high);
        }
        v[t] = hn::ConcatEven(d, high, low);
        if (t + 1 < K) v[t + 1] = hn::ConcatOdd(d, high, low);
      }
    }
    Best best = {v[0], first_};
    for (int t = 1; t < K; ++t) C::take(best, v[t], tap[t]);
    return best;
  }

  HWY_INLINE void store_index(const Best& best, index_t r, T* y) const {
    const D d;
    const V v = O::lift(d, best.value);
    if constexpr (kEdge)
      hn::BlendedStore(v, store_, d, y);
    else
      hn::StoreU(v, d, y);
    std::int64_t* index = b_.index + r * b_.index_pitch + column_;
    const auto origin = hn::Set(IndexTag(), b_.origin + r * b_.row_step);
    if (!b_.stream) {
      __builtin_prefetch(index + b_.rows * b_.index_pitch, 1);
      for (int l = 8; l < kLanes; l += 8) __builtin_prefetch(index + b_.rows * b_.index_pitch + l, 1);
    }
    const index_t left = b_.out - column_;
    if constexpr (sizeof(T) == 8) {
      store_indices(hn::Add(hn::Add(hn::BitCast(IndexTag(), best.code), columns_), origin), left, index);
    } else if constexpr (sizeof(T) == 4) {
      store_places(hn::Add(hn::BitCast(PlaceTag(), best.code), columns_), origin, left, index);
    } else {
      constexpr index_t kHalf = kLanes / 2;
      const hn::Half<DU> half;
      const auto low = hn::PromoteTo(PlaceTag(), hn::LowerHalf(half, best.code));
      const auto high = hn::PromoteTo(PlaceTag(), hn::UpperHalf(half, best.code));
      const auto next = hn::Set(PlaceTag(), static_cast<std::int32_t>(kHalf * b_.step));
      store_places(hn::Add(low, columns_), origin, left, index);
      if (!kEdge || left > kHalf) {
        store_places(hn::Add(high, hn::Add(columns_, next)), origin, left - kHalf, index + kHalf);
      }
    }
  }
  template <class V32>
  HWY_INLINE void store_places(V32 place, hn::Vec<IndexTag> origin, index_t left, std::int64_t* to) const {
    const hn::Half<PlaceTag> half;
    store_indices(hn::Add(hn::PromoteTo(IndexTag(), hn::LowerHalf(half, place)), origin), left, to);
    store_indices(hn::Add(hn::PromoteTo(IndexTag(), hn::UpperHalf(half, place)), origin), left - kIndices,
                  to + kIndices);
  }
  HWY_INLINE void store_indices(hn::Vec<IndexTag> v, index_t left, std::int64_t* to) const {
    const IndexTag d64;
    if (!kEdge || left >= kIndices) {
      if (b_.stream)
        hn::Stream(v, d64, to);
      else
        hn::StoreU(v, d64, to);
    } else if (left > 0) {
      hn::BlendedStore(v, hn::FirstN(d64, static_cast<std::size_t>(left)), d64, to);
    }
  }

  HWY_INLINE void store(const Best& best, T* y, std::uint8_t* code) const {
    const D d;
    const V v = O::lift(d, best.value);
    if constexpr (kEdge) {
      hn::BlendedStore(v, store_, d, y);
      store_some_codes<T>(best.code, HWY_MIN(b_.out - column_, kLanes), code);
    } else {
      hn::StoreU(v, d, y);
      store_codes<T>(best.code, code);
    }
  }

  const CodeBand& b_;
  const index_t column_, from_;
  VU first_;                   // codes that a row begins with
  hn::Vec<PlaceTag> columns_;  // what a column adds to an index
  Mask mask_[kLoads], store_;
};

template <class O, int K, int S, bool kRing, bool kIndex>
HWY_NOINLINE bool fold(const CodeBand& b) {
  constexpr index_t kLanes = Codes<O>::kLanes;
  Special<O> special;
  // Inputs of an inner vector of outputs: all there.
  constexpr index_t kSpan = (kLanes - 1) * S + (S == 1 ? K : (K + 1) / 2 * 2);
  constexpr bool kLastIsEdge = S < K && S == 2;  // whose last taps nobody else looks at
  for (index_t j = 0; j < b.out; j += kLanes) {
    if (j > 0 && b.out - j < kLanes && !(kIndex && b.stream)) j = b.out - kLanes;
    const index_t from = b.first + j * S;
    const bool inner = from >= 0 && from + kSpan <= b.in && j + kLanes + kLastIsEdge <= b.out;
    special = inner ? CodeColumn<O, K, S, kRing, false, kIndex>(b, j).fold(special)
                    : CodeColumn<O, K, S, kRing, true, kIndex>(b, j).fold(special);
  }
  return special.found();
}

template <class O, int K, int S, bool kIndex>
bool fold_rows(const CodeBand& b) {
  if constexpr (S < K) {
    if (b.ascends && b.across == K) return fold<O, K, S, true, kIndex>(b);
  }
  return fold<O, K, S, false, kIndex>(b);
}

template <class O, int K, bool kIndex>
bool planes_along(const CodeBand& b, int stride) {
  return stride == 1 ? fold_rows<O, K, 1, kIndex>(b) : fold_rows<O, K, 2, kIndex>(b);
}

template <class O, bool kIndex>
bool planes(const CodeBand& b, int along, int stride) {
  if constexpr (!kIndex && kMostAlong<O> == 5) {
    if (along == 4) return planes_along<O, 4, kIndex>(b, stride);
    if (along == 5) return planes_along<O, 5, kIndex>(b, stride);
  }
  return along == 2 ? planes_along<O, 2, kIndex>(b, stride) : planes_along<O, 3, kIndex>(b, stride);
}

// Windows whose elements are vectors of lanes.
template <class O>
struct LaneCodes {
  using C = Codes<O>;
  using T = typename C::T;
  using D = typename C::D;
  using V = typename C::V;
  using VU = typename C::VU;
  static constexpr index_t kLanes = C::kLanes;

  // kVectors vectors of lanes of one window; kTaps 0: any number.
  template <int kTaps, int kVectors>
  static HWY_INLINE void lanes_at(const CodeLanes& b, const std::byte* x, T* y, std::uint8_t* code,
                                  Special<O>& special) {
    const D d;
    typename C::Best best[kVectors];
    V before[kVectors];
    const int count = kTaps > 0 ? kTaps : b.taps;
    for (int j = 0; j < kVectors; ++j) {
      before[j] = load(x, b.tap[0].offset, j);
      best[j] = {before[j], C::repeated(b.tap[0].code)};
    }
    for (int t = 1; t < count; ++t) {
      const VU tap = C::repeated(b.tap[t].code);
      for (int j = 0; j < kVectors; ++j) {
        const V v = load(x, b.tap[t].offset, j);
        if (t % 2 == 1)
          special.see(before[j], v);
        else
          before[j] = v;
        C::take(best[j], v, tap);
      }
    }
    for (int j = 0; j < kVectors; ++j) {
      if (count % 2 == 1) special.see(before[j], before[j]);
      hn::StoreU(O::lift(d, best[j].value), d, y + j * kLanes);
      store_codes<T>(best[j].code, code + j * kLanes);
    }
  }
  static HWY_INLINE V load(const std::byte* x, index_t offset, index_t vector) {
    const D d;
    return O::lift(d, hn::LoadU(d, reinterpret_cast<const T*>(x + offset) + vector * kLanes));
  }

  template <int kTaps>
  static HWY_NOINLINE bool lanes_of(const CodeLanes& b) {
    Special<O> special;
    const std::byte* x = b.x;
    T* y = static_cast<T*>(b.y);
    std::uint8_t* code = b.code;
    for (index_t w = 0; w < b.windows; ++w, x += b.step, y += b.y_pitch, code += b.code_pitch) {
      index_t i = 0;
      const auto at = [&](auto vectors) HWY_ATTR {
        lanes_at<kTaps, decltype(vectors)::value>(b, x + i * static_cast<index_t>(sizeof(T)), y + i, code + i, special);
      };
      for (; i + 4 * kLanes <= b.n; i += 4 * kLanes) at(std::integral_constant<int, 4>());
      for (; i + kLanes <= b.n; i += kLanes) at(std::integral_constant<int, 1>());
      if (i == b.n) continue;
      i = b.n - kLanes;
      at(std::integral_constant<int, 1>());
    }
    return special.found();
  }

  static bool lanes(const CodeLanes& b) {
    if (b.taps == 9) return lanes_of<9>(b);
    if (b.taps == 4) return lanes_of<4>(b);
    return lanes_of<0>(b);
  }
};

void write_places(const std::uint8_t* code, index_t n, const CodePlaces& to, std::int64_t* index) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Half<decltype(d)> half;
  const hn::ScalableTag<std::int64_t> d64;
  constexpr index_t kAll = hn::MaxLanes(d), kHalf = kAll / 2;
  const auto step = hn::Mul(hn::Iota(d64, 0), hn::Set(d64, to.step)), next = hn::Set(d64, kHalf * to.step);
#if ORIEL_AVX512
  const auto table = hn::LoadU(d, to.place);
#endif
  const auto vectors = [&](index_t i, auto& low, auto& high) HWY_ATTR {
    const auto codes = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, decltype(d)>(), code + i));
#if ORIEL_AVX512
    const decltype(table) place{_mm512_permutexvar_epi32(codes.raw, table.raw)};
#else
    const auto place = hn::GatherIndex(d, to.place, hn::And(codes, hn::Set(d, kMostCodePlaces - 1)));
#endif
    const auto from = hn::Add(step, hn::Set(d64, to.origin + i * to.step));
    low = hn::Add(hn::PromoteTo(d64, hn::LowerHalf(half, place)), from);
    high = hn::Add(hn::PromoteTo(d64, hn::UpperHalf(half, place)), hn::Add(from, next));
  };
  hn::Vec<decltype(d64)> low, high;
  index_t i = 0;
  const auto some = [&](index_t count) HWY_ATTR {  // fewer than kAll
    vectors(i, low, high);
    hn::BlendedStore(low, hn::FirstN(d64, static_cast<std::size_t>(HWY_MIN(count, kHalf))), d64, index + i);
    if (count > kHalf) {
      hn::BlendedStore(high, hn::FirstN(d64, static_cast<std::size_t>(count - kHalf)), d64, index + i + kHalf);
    }
    i += count;
  };
  if (to.stream && n >= kAll) {
    const auto beyond = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(index) / 8) % kHalf;
    if (beyond != 0) some(kHalf - beyond);
    for (; i + kAll <= n; i += kAll) {
      vectors(i, low, high);
      hn::Stream(low, d64, index + i);
      hn::Stream(high, d64, index + i + kHalf);
    }
  }
  for (; i + kAll <= n; i += kAll) {
    vectors(i, low, high);
    hn::StoreU(low, d64, index + i);
    hn::StoreU(high, d64, index + i + kHalf);
  }
  if (i < n) some(n - i);
}

template <class O>
CodeKernel kernel_of() {
  CodeKernel k;
  k.planes = &planes<O, false>;
  k.indexed = &planes<O, true>;
  k.lanes = &LaneCodes<O>::lanes;
  k.places = &write_places;
  k.vector = Codes<O>::kLanes;
  k.most_along = kMostAlong<O>;
  k.quick = ORIEL_AVX512;
  return k;
}

template <bool kMin>
CodeKernel kernels_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return kernel_of<OwnOrder<double, kMin>>();
    case Dtype::f32:
      return kernel_of<OwnOrder<float, kMin>>();
#if ORIEL_AVX512  // which loads and stores some lanes of 16 bits
    case Dtype::f16:
      return kernel_of<KeyOrder<10, kMin>>();
    case Dtype::bf16:
      return kernel_of<KeyOrder<7, kMin>>();
#endif
    default:
      return {};
  }
}
#endif

CodeKernel code_kernel([[maybe_unused]] Op op, [[maybe_unused]] Dtype dtype) {
#if ORIEL_AVX2
  return op == Op::min ? kernels_of<true>(dtype) : kernels_of<false>(dtype);
#else
  return {};
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(code_kernel);
}
const CodeTable& code_table() {
  static const PerTarget<CodeTable> tables{
      [](CodeTable& table, std::size_t which) { table.kernel = HWY_DISPATCH_TABLE(code_kernel)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
