// Extrema of floats that hold anything, and the search for one, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/exact/exact_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <cmath>

#include "cpu/element/fold-inl.h"
#include "cpu/exact/exact_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// Folds of neighbours: the taps of `a` come before those of `b`, so a tie stays with `a`. Associative, but in scan
// order only. Of numbers alone; x86's own instructions take the second operand of equals.
struct FirstMax {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
    return hn::Max(b, a);
#else
    return hn::IfThenElse(hn::Gt(b, a), b, a);
#endif
  }
};
struct FirstMin {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
    return hn::Min(b, a);
#else
    return hn::IfThenElse(hn::Lt(b, a), b, a);
#endif
  }
};
// The same in which a NaN of either stays: where `b` is one, and beside one of `a`, which no comparison replaces (x86
// takes the second operand beside a NaN, too).
template <class Number>
struct OrNan {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::IfThenElse(hn::IsNaN(b), b, Number::combine(a, b));
  }
};

template <class R>
FoldKernels first_of(Lane lane) {
  if (lane == Lane::f64) return fold_kernels<R, double>();
  return lane == Lane::f32 ? fold_kernels<R, float>() : FoldKernels{};
}

FoldKernels first(Op op, Lane lane, Nan nan) {
  if (nan == Nan::absent) return op == Op::min ? first_of<FirstMin>(lane) : first_of<FirstMax>(lane);
  return op == Op::min ? first_of<OrNan<FirstMin>>(lane) : first_of<OrNan<FirstMax>>(lane);
}

// A strip of kVectors vectors. A window is the end of one block of `kernel` rows and the beginning of the next.
template <class R, int kVectors, class D>
HWY_INLINE void fold_first_strip(D d, const FirstRows& b, index_t i) {
  using T = hn::TFromD<D>;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d)), strip = kVectors * lanes;
  const T* x = static_cast<const T*>(b.x) + i;
  T* out = static_cast<T*>(b.out) + i;
  T* HWY_RESTRICT ends = static_cast<T*>(b.scratch);
  for (index_t first = 0; first < b.windows; first += b.kernel) {
    const index_t count = b.windows - first < b.kernel ? b.windows - first : b.kernel;
    hn::Vec<D> acc[kVectors];
    const T* row = x + (first + b.kernel - 1) * b.pitch;
    for (int v = 0; v < kVectors; ++v) acc[v] = hn::LoadU(d, row + v * lanes);
    for (index_t r = b.kernel - 1; r > 0; --r) {
      row -= b.pitch;
      for (int v = 0; v < kVectors; ++v) {
        if (r < count) hn::StoreU(acc[v], d, ends + r * strip + v * lanes);
        acc[v] = R::combine(hn::LoadU(d, row + v * lanes), acc[v]);
      }
    }
    T* to = out + first * b.pitch;
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[v], d, to + v * lanes);
    row = x + (first + b.kernel) * b.pitch;
    for (index_t w = 1; w < count; ++w, row += b.pitch) {
      to += b.pitch;
      for (int v = 0; v < kVectors; ++v) {
        const auto in = hn::LoadU(d, row + v * lanes);
        acc[v] = w == 1 ? in : R::combine(acc[v], in);
        hn::StoreU(R::combine(hn::LoadU(d, ends + w * strip + v * lanes), acc[v]), d, to + v * lanes);
      }
    }
  }
}

template <class R, class T>
void fold_first_rows(const FirstRows& b) {
  constexpr int kVectors = static_cast<int>(kFirstStripBytes) / 64;
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + kVectors * lanes <= b.n; i += kVectors * lanes) fold_first_strip<R, kVectors>(d, b, i);
  for (; i + lanes <= b.n; i += lanes) fold_first_strip<R, 1>(d, b, i);
  if (i == b.n) return;
  if (b.n >= lanes) return fold_first_strip<R, 1>(d, b, b.n - lanes);
  const ShortTag<T> few;
  const hn::CappedTag<T, 1> one;
  for (; i + static_cast<index_t>(hn::Lanes(few)) <= b.n; i += static_cast<index_t>(hn::Lanes(few))) {
    fold_first_strip<R, 1>(few, b, i);
  }
  for (; i < b.n; ++i) fold_first_strip<R, 1>(one, b, i);
}

template <class R>
FoldFirstRows first_rows_of(Lane lane) {
  return lane == Lane::f64 ? &fold_first_rows<R, double> : &fold_first_rows<R, float>;
}

FoldFirstRows first_rows(Op op, Lane lane, Nan nan) {
  if (nan == Nan::absent) return op == Op::min ? first_rows_of<FirstMin>(lane) : first_rows_of<FirstMax>(lane);
  return op == Op::min ? first_rows_of<OrNan<FirstMin>>(lane) : first_rows_of<OrNan<FirstMax>>(lane);
}

template <Extremum kKind, class X, class A>
HWY_INLINE A number(X x) {
  const A a = static_cast<A>(static_cast<accumulator_t<X>>(x));
  if (std::isnan(a)) return kKind == Extremum::min ? highest_value<A>() : lowest_value<A>();
  return kKind == Extremum::magnitude ? std::fabs(a) : a;
}

template <Extremum kKind, class X, class A>
void lift_numbers(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
                  const LiftParams&) {
  const X* HWY_RESTRICT from = static_cast<const X*>(x);
  A* HWY_RESTRICT to = static_cast<A*>(out.value);
  if ((lane_pitch == 1 || lanes == 1) && (pitch == lanes || n == 1)) {
    for (index_t i = 0; i < n * lanes; ++i) to[i] = number<kKind, X, A>(from[i]);
    return;
  }
  for (index_t p = 0; p < n; ++p) {
    for (index_t l = 0; l < lanes; ++l) to[p * lanes + l] = number<kKind, X, A>(from[p * pitch + l * lane_pitch]);
  }
}

template <Extremum kKind>
LiftRow numbers_of(Dtype from) {
  switch (from) {
    case Dtype::f64:
      return &lift_numbers<kKind, double, double>;
    case Dtype::f32:
      return &lift_numbers<kKind, float, float>;
    case Dtype::f16:
      return &lift_numbers<kKind, half, float>;
    case Dtype::bf16:
      return &lift_numbers<kKind, bfloat16, float>;
    default:
      return nullptr;
  }
}

LiftRow numbers(Extremum kind, Dtype from, Lane) {
  if (kind == Extremum::magnitude) return numbers_of<Extremum::magnitude>(from);
  return kind == Extremum::min ? numbers_of<Extremum::min>(from) : numbers_of<Extremum::max>(from);
}

// How elements are compared: loaded as lanes in the order of the values, in which both zeros are one.
template <class T, Extremum kKind>
struct FloatOrder {  // f32, f64
  using Lane = T;
  static constexpr bool kNan = true;
  static constexpr T worst() { return kKind == Extremum::min ? highest_value<T>() : lowest_value<T>(); }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* x) {
    const auto v = hn::LoadU(d, x);
    return kKind == Extremum::magnitude ? hn::Abs(v) : v;
  }
  template <class D>
  static HWY_INLINE hn::Mask<D> is_nan(D, hn::Vec<D> v) {
    return hn::IsNaN(v);
  }
  // The better one, and `best` beside a NaN.
  template <class V>
  static HWY_INLINE V better(V v, V best) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
    return kKind == Extremum::min ? hn::Min(v, best) : hn::Max(v, best);  // these take the second beside a NaN
#else
    return hn::IfThenElse(kKind == Extremum::min ? hn::Lt(v, best) : hn::Gt(v, best), v, best);
#endif
  }
  static bool is_zero(T v) { return v == T{0}; }
  static T element(T v) { return v; }
};

template <int kMantissa, Extremum kKind>
struct KeyOrder {  // f16, bf16
  using Lane = std::int16_t;
  static constexpr bool kNan = true;
  static constexpr Lane kInfinity = static_cast<Lane>(0x7fff & ~((1 << kMantissa) - 1));
  static constexpr Lane worst() {
    return kKind == Extremum::min ? kInfinity : static_cast<Lane>(-kInfinity - (kKind == Extremum::max ? 1 : 0));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const Lane* x) {
    const auto bits = hn::LoadU(d, x);
    const auto magnitude = hn::And(bits, hn::Set(d, Lane{0x7fff}));
    if constexpr (kKind == Extremum::magnitude) return magnitude;
    // -1 - m for a negative magnitude m, but 0 for that of zero, whose key is moved up.
    const auto key = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, Lane{0x7fff})));
    return hn::Sub(key, hn::VecFromMask(d, hn::Eq(key, hn::Set(d, Lane{-1}))));
  }
  template <class D>
  static HWY_INLINE hn::Mask<D> is_nan(D d, hn::Vec<D> v) {
    const auto above = hn::Gt(v, hn::Set(d, kInfinity));
    if constexpr (kKind == Extremum::magnitude) return above;
    return hn::Or(above, hn::Lt(v, hn::Set(d, static_cast<Lane>(-kInfinity - 1))));
  }
  template <class V>
  static HWY_INLINE V better(V v, V best) {
    const hn::DFromV<V> d;
    const V number = hn::IfThenElse(is_nan(d, v), best, v);
    return kKind == Extremum::min ? hn::Min(number, best) : hn::Max(number, best);
  }
  static bool is_zero(Lane v) { return v == 0; }
  static Lane element(Lane v) { return static_cast<Lane>(v ^ ((v >> 15) & 0x7fff)); }
};

template <class T, Extremum kKind>
struct IntegerOrder {
  using Lane = std::make_signed_t<T>;  // unsigned ones with their highest bit turned
  static constexpr bool kNan = false;
  static constexpr Lane kTurn = std::is_signed_v<T> ? Lane{0} : lowest_value<Lane>();
  static constexpr Lane worst() { return kKind == Extremum::min ? highest_value<Lane>() : lowest_value<Lane>(); }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const Lane* x) {
    return hn::Xor(hn::LoadU(d, x), hn::Set(d, kTurn));
  }
  template <class V>
  static HWY_INLINE V better(V v, V best) {
    return kKind == Extremum::min ? hn::Min(v, best) : hn::Max(v, best);
  }
  static bool is_zero(Lane) { return false; }
  static Lane element(Lane v) { return static_cast<Lane>(v ^ kTurn); }
};

// The parts of a search with vectors of one length, for n no less than that.
template <class Order, class D>
struct Search {
  using Lane = typename Order::Lane;
  static constexpr std::size_t kMost = hn::MaxLanes(D());

  // The best of all numbers; true where there is a NaN.
  static HWY_INLINE bool best(D d, const Lane* x, index_t n, Lane& result) {
    const index_t step = static_cast<index_t>(hn::Lanes(d));
    auto first = hn::Set(d, Order::worst()), second = first, nan = hn::Zero(d);
    const auto see = [&](index_t i, index_t j) HWY_ATTR {
      const auto v = Order::load(d, x + i), w = Order::load(d, x + j);
      first = Order::better(v, first);
      second = Order::better(w, second);
      if constexpr (Order::kNan) {
        nan = hn::Or(nan, hn::VecFromMask(d, hn::Or(Order::is_nan(d, v), Order::is_nan(d, w))));
      }
    };
    index_t i = 0;
    for (; i + 2 * step <= n; i += 2 * step) see(i, i + step);
    if (i < n) see(i + step <= n ? i : n - step, n - step);
    Lane lanes[kMost];
    hn::StoreU(Order::better(first, second), d, lanes);
    result = lanes[0];
    for (index_t l = 1; l < step; ++l) {
      result = hn::GetLane(Order::better(hn::Set(d, lanes[l]), hn::Set(d, result)));
    }
    if constexpr (Order::kNan) {
      const auto bits = hn::BitCast(hn::RebindToSigned<D>(), nan);
      return !hn::AllFalse(hn::RebindToSigned<D>(), hn::Ne(bits, hn::Zero(hn::RebindToSigned<D>())));
    }
    return false;
  }

  static HWY_INLINE index_t last_nan(D d, const Lane* x, index_t n) {
    const index_t step = static_cast<index_t>(hn::Lanes(d));
    for (index_t end = n;; end -= step) {
      const index_t i = end < step ? 0 : end - step;
      if (hn::AllFalse(d, Order::is_nan(d, Order::load(d, x + i)))) {
        if (i == 0) return kNowhere;
        continue;
      }
      const hn::CappedTag<Lane, 1> one;
      for (index_t at = i + step - 1;; --at) {
        if (!hn::AllFalse(one, Order::is_nan(one, Order::load(one, x + at)))) return at;
      }
    }
  }

  static HWY_INLINE index_t first_equal(D d, const Lane* x, index_t n, Lane value) {
    const index_t step = static_cast<index_t>(hn::Lanes(d));
    const auto wanted = hn::Set(d, value);
    for (index_t i = 0; i < n; i += step) {
      const index_t from = i + step <= n ? i : n - step;
      const auto equal = hn::Eq(Order::load(d, x + from), wanted);
      if (hn::AllFalse(d, equal)) continue;
      const hn::CappedTag<Lane, 1> one;
      index_t at = from;
      while (hn::AllFalse(one, hn::Eq(Order::load(one, x + at), hn::Set(one, value)))) ++at;
      return at;
    }
    return kNowhere;
  }

  static HWY_INLINE index_t run(D d, const Lane* x, index_t n, bool omit, Lane* value) {
    Lane found;
    const bool some_nan = best(d, x, n, found);
    if constexpr (Order::kNan) {
      if (some_nan && !omit) return last_nan(d, x, n);
    }
    if (value == nullptr || found == Order::worst() || Order::is_zero(found)) return first_equal(d, x, n, found);
    *value = Order::element(found);
    return kWritten;
  }
};

template <class Order>
index_t seek_of(const void* x, index_t n, bool omit, void* value) {
  using Lane = typename Order::Lane;
  const auto* from = static_cast<const Lane*>(x);
  auto* to = static_cast<Lane*>(value);
  const hn::ScalableTag<Lane> d;
  if (n >= static_cast<index_t>(hn::Lanes(d))) return Search<Order, decltype(d)>::run(d, from, n, omit, to);
  const hn::CappedTag<Lane, 1> one;
  return Search<Order, decltype(one)>::run(one, from, n, omit, to);
}

template <Extremum kKind>
SeekExtremum seek_kind(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return &seek_of<FloatOrder<double, kKind>>;
    case Dtype::f32:
      return &seek_of<FloatOrder<float, kKind>>;
    case Dtype::f16:
      return &seek_of<KeyOrder<10, kKind>>;
    case Dtype::bf16:
      return &seek_of<KeyOrder<7, kKind>>;
    default:
      break;
  }
  if constexpr (kKind != Extremum::magnitude) {
    switch (dtype) {
      case Dtype::i8:
        return &seek_of<IntegerOrder<std::int8_t, kKind>>;
      case Dtype::u8:
        return &seek_of<IntegerOrder<std::uint8_t, kKind>>;
      case Dtype::i16:
        return &seek_of<IntegerOrder<std::int16_t, kKind>>;
      case Dtype::u16:
        return &seek_of<IntegerOrder<std::uint16_t, kKind>>;
      case Dtype::i32:
        return &seek_of<IntegerOrder<std::int32_t, kKind>>;
      case Dtype::u32:
        return &seek_of<IntegerOrder<std::uint32_t, kKind>>;
      case Dtype::i64:
        return &seek_of<IntegerOrder<std::int64_t, kKind>>;
      case Dtype::u64:
        return &seek_of<IntegerOrder<std::uint64_t, kKind>>;
      default:
        break;
    }
  }
  return nullptr;
}

SeekExtremum seek(Extremum kind, Dtype dtype) {
  if (kind == Extremum::magnitude) return seek_kind<Extremum::magnitude>(dtype);
  return kind == Extremum::min ? seek_kind<Extremum::min>(dtype) : seek_kind<Extremum::max>(dtype);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(first);
HWY_EXPORT(first_rows);
HWY_EXPORT(numbers);
HWY_EXPORT(seek);
}  // namespace
const ExactTable& exact_table() {
  static const PerTarget<ExactTable> tables{[](ExactTable& table, std::size_t which) {
    table.first = HWY_DISPATCH_TABLE(first)[which];
    table.first_rows = HWY_DISPATCH_TABLE(first_rows)[which];
    table.numbers = HWY_DISPATCH_TABLE(numbers)[which];
    table.seek = HWY_DISPATCH_TABLE(seek)[which];
  }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
