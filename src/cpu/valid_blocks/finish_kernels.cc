// What becomes of folded taps, per instruction set: plain loops, of which the compiler makes vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/valid_blocks/finish_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <cstring>

#include "cpu/element/quotient.h"
#include "cpu/valid_blocks/finish_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// The whole number nearest to |v| < 2^51, half to even.
HWY_INLINE double nearest_whole(double v) {
  constexpr double kShift = 0x1.8p52;
  return (v + kShift) - kShift;
}

// The value of R nearest to a sum, a difference or an extremum.
template <class R, class A>
HWY_INLINE R stored(A v) {
  if constexpr (std::is_same_v<R, bool8>) {
    return bool8(v > 0);
  } else if constexpr (std::is_same_v<R, half> || std::is_same_v<R, bfloat16>) {
    return R(static_cast<double>(v));
  } else if constexpr (is_floating_v<R> || std::is_same_v<R, A>) {
    return static_cast<R>(v);
  } else if constexpr (sizeof(R) < sizeof(A) || (sizeof(R) == sizeof(A) && std::is_unsigned_v<R>)) {
    constexpr A kLow = std::is_unsigned_v<R> ? A{0} : static_cast<A>(lowest_value<R>());
    constexpr bool kCapped = sizeof(R) < sizeof(A);
    if (v < kLow) v = kLow;
    if constexpr (kCapped) {
      constexpr A kHigh = static_cast<A>(highest_value<R>());
      if (v > kHigh) v = kHigh;
    }
    return static_cast<R>(v);
  } else if constexpr (std::is_unsigned_v<R>) {
    return static_cast<R>(v < 0 ? A{0} : v);
  } else {
    return static_cast<R>(v);
  }
}

template <class R, class A>
HWY_INLINE R quotient(A sum, A divisor) {
  if constexpr (std::is_floating_point_v<A>) {
    if constexpr (std::is_same_v<A, float> && std::is_same_v<R, float>) return sum / divisor;
    if constexpr (std::is_same_v<A, double> && std::is_same_v<R, float>)
      return static_cast<float>(odd_quotient(sum, static_cast<index_t>(divisor)));
    return stored<R>(static_cast<double>(sum) / static_cast<double>(divisor));
  } else if constexpr (std::is_same_v<A, std::int16_t> && !is_floating_v<R>) {
    // Of divisors of at most kMostBlockTaps: floats tell whether a quotient is half-way.
    constexpr float kShift = 0x1.8p23F;
    const float q = static_cast<float>(sum) / static_cast<float>(divisor);
    return stored<R>(static_cast<std::int32_t>((q + kShift) - kShift));
  } else {
    const double q = static_cast<double>(sum) / static_cast<double>(divisor);
    if constexpr (is_floating_v<R>) return static_cast<R>(q);
    return stored<R>(static_cast<std::int64_t>(nearest_whole(q)));
  }
}

// Of `zeroed` valid taps the value is 0.
template <TapFinish kFinish, class R, class A>
HWY_INLINE R value_at([[maybe_unused]] const FinishRow& r, A folded, A valid, [[maybe_unused]] A zeroed) {
  if constexpr (kFinish == TapFinish::average) {
    const A divisor = static_cast<A>(r.divisor != 0 ? static_cast<A>(r.divisor) : valid + static_cast<A>(r.more));
    const R q = quotient<R>(folded, divisor == 0 ? A{1} : divisor);
    return divisor == 0 || valid == 0 ? R{} : q;
  } else if constexpr (kFinish == TapFinish::value) {
    return stored<R>(valid == zeroed ? A{0} : folded);
  } else if constexpr (kFinish == TapFinish::count) {
    return stored<R>(valid);
  } else if constexpr (kFinish == TapFinish::any) {
    return stored<R>(static_cast<A>(folded > 0 ? 1 : 0));
  } else {
    return stored<R>(static_cast<A>(folded == valid ? 1 : 0));
  }
}

template <TapFinish kFinish, class A, class R>
void finish(const FinishRow& row) {
  const FinishRow r = row;  // so that y is known to be apart from it
  const A* HWY_RESTRICT folded = static_cast<const A*>(r.folded);
  const A* HWY_RESTRICT valid = static_cast<const A*>(r.valid);
  R* HWY_RESTRICT y = static_cast<R*>(r.y);
  const A need = static_cast<A>(r.need), zeroed = r.keeps ? static_cast<A>(-1) : A{0};
  R fill;
  std::memcpy(&fill, r.fill, sizeof(R));
  for (index_t i = 0; i < r.n; ++i) {
    const R value = value_at<kFinish, R, A>(r, folded[i], valid[i], zeroed);
    y[i] = valid[i] < need ? fill : value;
  }
}

// Whether there are results of R: other pairs are for no op, or rare.
template <TapFinish kFinish, class A, class R>
constexpr bool has_finish() {
  constexpr bool kShortFloat = std::is_same_v<R, half> || std::is_same_v<R, bfloat16>;
  constexpr bool kReal = is_floating_v<R> && !kShortFloat;
  if (kFinish == TapFinish::count) return kReal || std::is_same_v<R, std::int64_t>;
  if (kFinish == TapFinish::any || kFinish == TapFinish::all) return kReal || std::is_same_v<R, bool8>;
  if (std::is_same_v<A, float>) return is_floating_v<R>;
  if (std::is_same_v<A, double>) return kReal;
  if (kShortFloat) return false;
  if (std::is_same_v<A, std::uint64_t>) return kFinish == TapFinish::value && (kReal || std::is_same_v<R, A>);
  if (kFinish == TapFinish::average && !kReal) return std::is_same_v<A, std::int64_t> ? sizeof(R) == 4 : sizeof(R) < 4;
  return !std::is_same_v<A, std::int64_t> || sizeof(R) >= 4;
}

template <TapFinish kFinish, class A>
FinishTaps finish_as(Dtype result) {
  return visit(result, []<class R>() -> FinishTaps {
    if constexpr (has_finish<kFinish, A, R>()) return &finish<kFinish, A, R>;
    return nullptr;
  });
}

template <class A>
void subtract(void* high, const void* low, index_t n) {
  A* HWY_RESTRICT to = static_cast<A*>(high);
  const A* HWY_RESTRICT from = static_cast<const A*>(low);
  for (index_t i = 0; i < n; ++i) to[i] = static_cast<A>(to[i] - from[i]);
}

template <class A>
FinishTaps finish_lane(TapFinish how, Dtype result) {
  switch (how) {
    case TapFinish::value:
      return finish_as<TapFinish::value, A>(result);
    case TapFinish::average:
      return finish_as<TapFinish::average, A>(result);
    case TapFinish::count:
      return finish_as<TapFinish::count, A>(result);
    case TapFinish::any:
      return finish_as<TapFinish::any, A>(result);
    default:
      return finish_as<TapFinish::all, A>(result);
  }
}

FinishTaps tap_finish(TapFinish how, TapLane lane, Dtype result) {
  switch (lane) {
    case TapLane::i16:
      return finish_lane<std::int16_t>(how, result);
    case TapLane::i32:
      return finish_lane<std::int32_t>(how, result);
    case TapLane::i64:
      return finish_lane<std::int64_t>(how, result);
    case TapLane::u64:
      return finish_lane<std::uint64_t>(how, result);
    case TapLane::f32:
      return finish_lane<float>(how, result);
    default:
      return finish_lane<double>(how, result);
  }
}

SubtractRow tap_subtraction(TapLane lane) {
  switch (lane) {
    case TapLane::i16:
      return &subtract<std::int16_t>;
    case TapLane::i32:
      return &subtract<std::int32_t>;
    case TapLane::f32:
      return &subtract<float>;
    case TapLane::f64:
      return &subtract<double>;
    default:
      return &subtract<std::int64_t>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(tap_finish);
HWY_EXPORT(tap_subtraction);
using SubtractionOf = SubtractRow (*)(TapLane lane);
using FinishOf = FinishTaps (*)(TapFinish finish, TapLane lane, Dtype result);
}  // namespace

FinishTaps finish_taps(TapFinish finish, TapLane lane, Dtype result) {
  static const PerTarget<FinishOf> all{
      [](FinishOf& one, std::size_t which) { one = HWY_DISPATCH_TABLE(tap_finish)[which]; }};
  return all.active()(finish, lane, result);
}

SubtractRow subtract_row(TapLane lane) {
  static const PerTarget<SubtractionOf> all{
      [](SubtractionOf& one, std::size_t which) { one = HWY_DISPATCH_TABLE(tap_subtraction)[which]; }};
  return all.active()(lane);
}
}  // namespace oriel::cpu
#endif
