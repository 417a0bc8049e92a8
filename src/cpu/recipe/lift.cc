// Elements into lanes before a fold, and the look for values that plain kernels do not treat exactly. Plain loops,
// compiled once per instruction set; f16 goes through Highway's conversion.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/recipe/lift.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "cpu/recipe/kernels.h"
#include "cpu/simd/norm_powers-inl.h"
#include "cpu/simd/scalar_loop.h"
#include "hwy/highway.h"
#include "instruction_set.h"
#include "real_functions.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(element, i) for element i of n * lanes; dense rows run as one flat loop, and fill vectors.
template <class X, class F>
HWY_INLINE void each(const void* data, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, F f) {
  const X* x = static_cast<const X*>(data);
  if ((lane_pitch == 1 || lanes == 1) && (pitch == lanes || n == 1)) {
    for (index_t i = 0; i < n * lanes; ++i) {
      ORIEL_SPARE_SCALAR_LOOP;
      f(x[i], i);
    }
  } else if (lanes == 1) {
    for (index_t p = 0; p < n; ++p) {
      ORIEL_SCALAR_LOOP;
      f(x[p * pitch], p);
    }
  } else {
    for (index_t p = 0; p < n; ++p) {
      for (index_t l = 0; l < lanes; ++l) {
        ORIEL_SCALAR_LOOP;
        f(x[p * pitch + l * lane_pitch], p * lanes + l);
      }
    }
  }
}

struct Same {
  template <class A, class X>
  static HWY_INLINE A of(X x, double) {
    return static_cast<A>(x);
  }
};
// |x|, exact for every integer: the lane type of integers has 64 bits, read as unsigned.
struct Absolute {
  template <class A, class X>
  static HWY_INLINE A of(X x, double) {
    if constexpr (is_floating_v<X>) {
      return std::fabs(static_cast<A>(x));
    } else if constexpr (std::is_signed_v<X>) {
      const std::uint64_t u = static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
      return static_cast<A>(x < 0 ? 0 - u : u);
    } else {
      return static_cast<A>(x);
    }
  }
};
struct Square {
  template <class A, class X>
  static HWY_INLINE A of(X x, double) {
    if constexpr (is_floating_v<X>) {
      const A a = static_cast<A>(x);
      return a * a;
    } else {
      const std::uint64_t u = static_cast<std::uint64_t>(Absolute::of<std::int64_t>(x, 0));
      return static_cast<A>(u * u);
    }
  }
};
template <class X>
HWY_INLINE double magnitude_of(X x) {
  if constexpr (is_floating_v<X>)
    return std::fabs(static_cast<double>(static_cast<accumulator_t<X>>(x)));
  else
    return std::fabs(static_cast<double>(x));
}
struct Power {
  template <class A, class X>
  static HWY_INLINE A of(X x, double norm) {
    return static_cast<A>(norm_power(magnitude_of(x), norm));
  }
};
struct Cube {  // as Power, but for vectors
  template <class A, class X>
  static HWY_INLINE A of(X x, double) {
    const double magnitude = magnitude_of(x);
    return static_cast<A>(magnitude * (magnitude * magnitude));
  }
};

template <class X>
HWY_INLINE bool is_nan(X x) {
  if constexpr (is_floating_v<X>) {
    return std::isnan(static_cast<accumulator_t<X>>(x));
  } else {
    return false;
  }
}

template <class F, class X, class A>
void lift_row(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
              const LiftParams& params) {
  A* HWY_RESTRICT value = static_cast<A*>(out.value);
  if (!params.omit) {
    const double norm = params.norm;
    each<X>(x, pitch, lane_pitch, n, lanes, [value, norm](X e, index_t i) { value[i] = F::template of<A>(e, norm); });
    return;
  }
  using Count = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
  Count* HWY_RESTRICT missing = static_cast<Count*>(out.extra);
  const double norm = params.norm;
  each<X>(x, pitch, lane_pitch, n, lanes, [value, missing, norm](X e, index_t i) {
    const bool absent = is_nan(e);
    const A lifted = F::template of<A>(e, norm);        // of a NaN too: without a branch, for vectors
    value[i] = absent ? static_cast<A>(-0.0) : lifted;  // S8: the exact identity
    missing[i] = absent ? 1 : 0;
  });
}

template <class X, class A>
void power_row(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
               const LiftParams& params) {
  if (params.norm == 3) return lift_row<Cube, X, A>(x, pitch, lane_pitch, n, lanes, out, params);
  if (is_whole_norm(params.norm)) return lift_row<Power, X, A>(x, pitch, lane_pitch, n, lanes, out, params);
  using Count = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
  A* HWY_RESTRICT value = static_cast<A*>(out.value);
  Count* missing = params.omit ? static_cast<Count*>(out.extra) : nullptr;
  constexpr index_t kRoom = 128;
  std::array<double, kRoom> room;
  each<X>(x, pitch, lane_pitch, n, lanes, [&](X e, index_t i) {
    if (missing != nullptr) missing[i] = is_nan(e) ? 1 : 0;
    room[static_cast<std::size_t>(i % kRoom)] = magnitude_of(e);
    if ((i + 1) % kRoom != 0 && i + 1 != n * lanes) return;
    const index_t first = i - i % kRoom, count = i + 1 - first;
    take_norm_powers(room.data(), count, params.norm);
    for (index_t k = 0; k < count; ++k) value[first + k] = static_cast<A>(room[static_cast<std::size_t>(k)]);
  });
  if (missing == nullptr) return;
  for (index_t i = 0; i < n * lanes; ++i)
    if (missing[i] != 0) value[i] = static_cast<A>(-0.0);
}

// f16 -> f32 where rows are dense, eight or more at a time. Highway's emulation, for targets without them, knows
// neither infinities nor NaN.
void widen_half_row(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
                    const LiftParams& params) {
  const bool dense = (lane_pitch == 1 || lanes == 1) && (pitch == lanes || n == 1);
  constexpr bool kInHardware = ORIEL_HALF_AND_FUSED;
  if (!dense || params.omit || !kInHardware) {
    return lift_row<Same, half, float>(x, pitch, lane_pitch, n, lanes, out, params);
  }
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  const hwy::float16_t* in = static_cast<const hwy::float16_t*>(x);
  float* value = static_cast<float*>(out.value);
  index_t i = 0;
  for (; i + step <= n * lanes; i += step) hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, in + i)), d, value + i);
  for (; i < n * lanes; ++i) value[i] = static_cast<const half*>(x)[i];
}

template <class X>
void copy_row(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
              const LiftParams&) {
  X* HWY_RESTRICT value = static_cast<X*>(out.value);
  each<X>(x, pitch, lane_pitch, n, lanes, [value](X e, index_t i) { value[i] = e; });
}

// Bits of f16 and bf16 as integers in the order of their values (no NaN; the map is its own inverse).
void key_row(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
             const LiftParams&) {
  std::int16_t* HWY_RESTRICT value = static_cast<std::int16_t*>(out.value);
  each<std::int16_t>(x, pitch, lane_pitch, n, lanes, [value](std::int16_t e, index_t i) {
    value[i] = static_cast<std::int16_t>(e ^ ((e >> 15) & 0x7fff));
  });
}

// An element as an ordered lane: greater is better. Minima reverse the order; u64 moves its sign bit.
template <Lift kKind, class A, class X>
HWY_INLINE A ordered(X x) {
  if constexpr (is_floating_v<X>) {
    const A a = static_cast<A>(static_cast<accumulator_t<X>>(x));
    if constexpr (kKind == Lift::arg_min)
      return -a;
    else if constexpr (kKind == Lift::arg_absolute)
      return std::fabs(a);
    else
      return a;
  } else if constexpr (kKind == Lift::arg_absolute) {
    return static_cast<A>(static_cast<std::uint64_t>(Absolute::of<std::int64_t>(x, 0)) ^ (1ULL << 63));
  } else {
    A a;
    if constexpr (std::is_same_v<X, std::uint64_t>)
      a = static_cast<A>(x ^ (1ULL << 63));
    else
      a = static_cast<A>(x);
    return kKind == Lift::arg_min ? static_cast<A>(~a) : a;
  }
}

template <Lift kKind, class X, class A>
void arg_row(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
             const LiftParams& params) {
  using Code = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
  A* HWY_RESTRICT value = static_cast<A*>(out.value);
  Code* HWY_RESTRICT code = static_cast<Code*>(out.extra);
  const bool omit = params.omit;
  each<X>(x, pitch, lane_pitch, n, lanes, [value, code, omit](X e, index_t i) {
    const bool absent = omit && is_nan(e);
    value[i] = absent ? lowest_value<A>() : ordered<kKind, A>(e);
    code[i] = absent ? kAbsent<Code> : Code{0};
  });
}

template <Lift kKind, class X>
LiftRow pick_arg(Lane to) {
  if constexpr (is_floating_v<X>) {
    if (to == Lane::f64) return &arg_row<kKind, X, double>;
    if constexpr (!std::is_same_v<X, double>) return &arg_row<kKind, X, float>;
  } else {
    if (to == Lane::i64) return &arg_row<kKind, X, std::int64_t>;
    if constexpr (kKind != Lift::arg_absolute && (sizeof(X) < 4 || std::is_same_v<X, std::int32_t>))
      return &arg_row<kKind, X, std::int32_t>;
  }
  return nullptr;
}

template <class F, class X>
LiftRow pick_sum(Lane to) {
  if constexpr (std::is_same_v<X, double>)
    return &lift_row<F, X, double>;
  else if constexpr (is_floating_v<X>)
    return to == Lane::f32 ? &lift_row<F, X, float> : nullptr;
  else if constexpr (std::is_same_v<F, Same> && sizeof(X) < 4)
    return to == Lane::i32 ? &lift_row<F, X, std::int32_t> : &lift_row<F, X, std::int64_t>;
  else
    return &lift_row<F, X, std::int64_t>;
}

template <class X>
LiftRow pick_power(Lane to) {
  if constexpr (is_floating_v<X> && !std::is_same_v<X, double>)
    return to == Lane::f32 ? &power_row<X, float> : nullptr;
  else
    return &power_row<X, double>;
}

template <class X>
LiftRow pick_lift(Lift kind, Lane to) {
  switch (kind) {
    case Lift::none:
      return nullptr;
    case Lift::copy:
      return &copy_row<X>;
    case Lift::key:
      return &key_row;
    case Lift::widen:
      if constexpr (std::is_same_v<X, half>)
        return &widen_half_row;
      else
        return pick_sum<Same, X>(to);
    case Lift::absolute:
      return pick_sum<Absolute, X>(to);
    case Lift::square:
      return pick_sum<Square, X>(to);
    case Lift::power:
      return pick_power<X>(to);
    case Lift::arg_max:
      return pick_arg<Lift::arg_max, X>(to);
    case Lift::arg_min:
      return pick_arg<Lift::arg_min, X>(to);
    case Lift::arg_absolute:
      return pick_arg<Lift::arg_absolute, X>(to);
  }
  return nullptr;
}

LiftRow lift(Lift kind, Dtype from, Lane to) {
  return visit(from, [&]<class X>() { return pick_lift<X>(kind, to); });
}

// Looks through a dense row for the greatest magnitude, which tells a NaN, and the least signed bits, which tell a
// negative zero.
template <class S, int kMantissa>
bool scan_row(const void* x, index_t n, bool zeros) {
  constexpr S kMost = highest_value<S>(), kLeast = lowest_value<S>();
  constexpr S kInfinity = static_cast<S>(kMost & ~((S{1} << kMantissa) - 1));
  const S* bits = static_cast<const S*>(x);
  const hn::ScalableTag<S> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  const auto mask = hn::Set(d, kMost);
  auto magnitude = hn::Zero(d), least = hn::Zero(d), magnitude2 = magnitude, least2 = least;
  index_t i = 0;
  if (!zeros) {
    for (; i + 4 * step <= n; i += 4 * step) {
      magnitude = hn::Max(magnitude, hn::And(hn::LoadU(d, bits + i), mask));
      magnitude2 = hn::Max(magnitude2, hn::And(hn::LoadU(d, bits + i + step), mask));
      magnitude = hn::Max(magnitude, hn::And(hn::LoadU(d, bits + i + 2 * step), mask));
      magnitude2 = hn::Max(magnitude2, hn::And(hn::LoadU(d, bits + i + 3 * step), mask));
    }
  }
  for (; i + 2 * step <= n; i += 2 * step) {  // two chains, since each waits for its last step
    const auto v = hn::LoadU(d, bits + i), w = hn::LoadU(d, bits + i + step);
    magnitude = hn::Max(magnitude, hn::And(v, mask));
    magnitude2 = hn::Max(magnitude2, hn::And(w, mask));
    least = hn::Min(least, v);
    least2 = hn::Min(least2, w);
  }
  for (; i < n && n >= step; i += step) {  // the last vector ends with the row
    const auto v = hn::LoadU(d, bits + std::min(i, n - step));
    magnitude = hn::Max(magnitude, hn::And(v, mask));
    least = hn::Min(least, v);
  }
  magnitude = hn::Max(magnitude, magnitude2);
  least = hn::Min(least, least2);
  const auto bad = hn::Or(hn::Gt(magnitude, hn::Set(d, kInfinity)), hn::Eq(least, hn::Set(d, zeros ? kLeast : S{1})));
  bool found = !hn::AllFalse(d, bad);
  for (; i < n; ++i) found |= (bits[i] & kMost) > kInfinity || (zeros && bits[i] == kLeast);
  return found;
}

ScanRow scan(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return &scan_row<std::int64_t, 52>;
    case Dtype::f32:
      return &scan_row<std::int32_t, 23>;
    case Dtype::f16:
      return &scan_row<std::int16_t, 10>;
    case Dtype::bf16:
      return &scan_row<std::int16_t, 7>;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(lift);
HWY_EXPORT(scan);
}  // namespace
void fill_convert(KernelTable& table, std::size_t which) {
  table.lift = HWY_DISPATCH_TABLE(lift)[which];
  table.scan = HWY_DISPATCH_TABLE(scan)[which];
}
}  // namespace oriel::cpu
#endif
