// Folded rows into results: division, roots, rounding once (S7), saturation, empty windows (S6). Plain loops, compiled
// once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/recipe/lower.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/element/narrow-inl.h"
#include "cpu/element/quotient.h"
#include "cpu/recipe/kernels.h"
#include "cpu/simd/norm_powers-inl.h"
#include "cpu/simd/scalar_loop.h"
#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The nearest value of T: integers saturate, 64-bit ones keep the accumulator's bits.
template <class T, class A>
HWY_INLINE T nearest(A a) {
  if constexpr (std::is_same_v<T, bool8>) {
    if constexpr (std::is_floating_point_v<A>)
      return bool8(std::rint(a) > A{0});
    else
      return bool8(a > A{0});
  } else if constexpr (is_floating_v<T>) {
    return static_cast<T>(a);
  } else if constexpr (std::is_floating_point_v<A>) {
    const double r = std::rint(static_cast<double>(a));
    if (r != r) return T{0};
    if (r <= static_cast<double>(lowest_value<T>())) return lowest_value<T>();
    return r >= static_cast<double>(highest_value<T>()) ? highest_value<T>() : static_cast<T>(r);
  } else if constexpr (std::is_unsigned_v<A>) {  // magnitudes: those of 64-bit types saturate too
    return a > static_cast<A>(highest_value<T>()) ? highest_value<T>() : static_cast<T>(a);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(a);
  } else {
    const std::int64_t v = a;
    const std::int64_t low = lowest_value<T>(), high = highest_value<T>();
    return static_cast<T>(v < low ? low : v > high ? high : v);
  }
}

// a / d, exact then rounded once: floats correctly rounded, integers half to even.
template <class T, class A>
HWY_INLINE T quotient(A a, index_t divisor) {
  if constexpr (std::is_same_v<T, float>) {
    if (divisor < (index_t{1} << 24)) return a / static_cast<float>(divisor);
    return static_cast<float>(odd_quotient(a, divisor));
  } else if constexpr (is_floating_v<T>) {
    return static_cast<T>(static_cast<double>(a) / static_cast<double>(divisor));
  } else if constexpr (sizeof(A) == 4) {
    return nearest<T>(static_cast<double>(a) / static_cast<double>(divisor));  // exact enough: |a| < 2^52
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    const std::uint64_t n = static_cast<std::uint64_t>(a), d = static_cast<std::uint64_t>(divisor);
    const std::uint64_t q = n / d, r = n % d;
    return q + (r > d - r || (r == d - r && q % 2 == 1) ? 1 : 0);
  } else {
    const std::int64_t q = a / divisor, r = a % divisor;
    const std::int64_t rest = r < 0 ? -r : r;
    const bool away = rest > divisor - rest || (rest == divisor - rest && q % 2 != 0);
    return nearest<T>(away ? (r < 0 ? q - 1 : q + 1) : q);
  }
}

template <class T, class A>
HWY_INLINE T root(A a, double norm) {
  if constexpr (std::is_floating_point_v<A>) {
    if (norm == 1) return nearest<T>(a);
    if constexpr (std::is_same_v<T, A>) {
      if (norm == 2) return std::sqrt(a);
    }
    const double s = static_cast<double>(a);
    return nearest<T>(norm_root(s, norm));
  } else {
    const std::uint64_t u = static_cast<std::uint64_t>(a);
    if (norm == 1) return nearest<T>(u);
    std::uint64_t r = static_cast<std::uint64_t>(std::sqrt(static_cast<long double>(u)));
    while (r > 0xffffffffULL || r * r > u) --r;
    while (r < 0xffffffffULL && (r + 1) * (r + 1) <= u) ++r;
    return nearest<T>(u - r * r > r ? r + 1 : r);  // (r + 1/2)^2 = r*r + r + 1/4
  }
}

// Calls body(begin, end, divisor, taps) for the runs of a row.
template <class F>
HWY_INLINE void each_run(const LowerParams& p, F body) {
  for (const RowRun* run = p.runs; run != p.runs + p.run_count; ++run) {
    body(run->begin, run->end, p.divisor_of(*run), p.taps * run->taps);
  }
}

// Stores f(i) for the accumulators i of positions [begin, end).
template <class T, class F>
HWY_INLINE void store(index_t begin, index_t end, index_t lanes, void* y, index_t pitch, index_t lane_pitch, F f) {
  T* HWY_RESTRICT out = static_cast<T*>(y);
  if ((lane_pitch == 1 || lanes == 1) && pitch == lanes) {
    for (index_t i = begin * lanes; i < end * lanes; ++i) {
      ORIEL_SPARE_SCALAR_LOOP;
      out[i] = f(i);
    }
    return;
  }
  for (index_t p = begin; p < end; ++p) {
    for (index_t l = 0; l < lanes; ++l) {
      ORIEL_SCALAR_LOOP;
      out[p * pitch + l * lane_pitch] = f(p * lanes + l);
    }
  }
}

// quotient's first case for dense rows: y[i] = a[i] / d.
template <class A>
HWY_INLINE void divide_row(const A* HWY_RESTRICT a, index_t n, A divisor, A* HWY_RESTRICT y) {
  if constexpr (std::is_floating_point_v<A>) {
    const hn::ScalableTag<A> d;
    const auto by = hn::Set(d, divisor);
    const index_t step = static_cast<index_t>(hn::Lanes(d));
    index_t i = 0;
    for (; i + step <= n; i += step) hn::StoreU(hn::Div(hn::LoadU(d, a + i), by), d, y + i);
    if (i < n && n >= step) {
      hn::StoreU(hn::Div(hn::LoadU(d, a + n - step), by), d, y + n - step);
    } else {
      for (; i < n; ++i) y[i] = a[i] / divisor;
    }
  }
}

template <class T, class A, bool kAverage>
void lower_sum(RowIn acc, index_t, index_t lanes, const LowerParams& params, void* y, index_t pitch,
               index_t lane_pitch) {
  using Count = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
  const A* HWY_RESTRICT a = static_cast<const A*>(acc.value);
  const Count* HWY_RESTRICT missing = params.missing ? static_cast<const Count*>(acc.extra) : nullptr;
  const bool dense = (lane_pitch == 1 || lanes == 1) && pitch == lanes;
  each_run(params, [&](index_t begin, index_t end, index_t divisor, index_t taps) HWY_ATTR {
    if (dense && !missing && taps > 0) {
      const index_t i = begin * lanes, n = (end - begin) * lanes;
      const index_t done = narrow_row<T, A, kAverage>(a + i, n, divisor, taps, static_cast<T*>(y) + i);
      T* HWY_RESTRICT rest = static_cast<T*>(y) + i;
      if (done > 0) {
        for (index_t j = done; j < n; ++j) rest[j] = kAverage ? quotient<T>(a[i + j], divisor) : nearest<T>(a[i + j]);
        return;
      }
    }
    if (missing) {
      store<T>(begin, end, lanes, y, pitch, lane_pitch, [&](index_t i) {
        if (taps <= missing[i]) return static_cast<T>(0);
        if (!kAverage) return nearest<T>(a[i]);
        return quotient<T>(a[i], params.fixed_divisor ? divisor : divisor - missing[i]);
      });
    } else if (taps == 0) {
      store<T>(begin, end, lanes, y, pitch, lane_pitch, [](index_t) { return static_cast<T>(0); });
    } else if (kAverage && std::is_same_v<T, A> && std::is_floating_point_v<A> && divisor < (index_t{1} << 24) &&
               dense) {
      divide_row(a + begin * lanes, (end - begin) * lanes, static_cast<A>(divisor), static_cast<A*>(y) + begin * lanes);
    } else if constexpr (kAverage) {
      store<T>(begin, end, lanes, y, pitch, lane_pitch, [a, divisor](index_t i) { return quotient<T>(a[i], divisor); });
    } else {
      store<T>(begin, end, lanes, y, pitch, lane_pitch, [a](index_t i) { return nearest<T>(a[i]); });
    }
  });
}

// root's first cases for dense rows of floats.
template <class A>
HWY_INLINE void root_row(const A* HWY_RESTRICT a, index_t n, A* HWY_RESTRICT y) {
  const hn::ScalableTag<A> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(hn::Sqrt(hn::LoadU(d, a + i)), d, y + i);
  for (; i < n; ++i) y[i] = std::sqrt(a[i]);
}

constexpr index_t kRootRoom = 128;

// Stores the roots of positions [begin, end) by way of a buffer, in vectors.
template <class T, class A, class Empty>
void store_roots(const A* HWY_RESTRICT a, index_t begin, index_t end, index_t lanes, double norm, void* y,
                 index_t pitch, index_t lane_pitch, const Empty& empty) {
  std::array<double, kRootRoom> room;
  const index_t step = kRootRoom / lanes;
  for (index_t p = begin; p < end; p += step) {
    const index_t last = std::min(end, p + step), first = p * lanes, n = (last - p) * lanes;
    for (index_t i = 0; i < n; ++i) room[static_cast<std::size_t>(i)] = static_cast<double>(a[first + i]);
    take_norm_roots(room.data(), n, norm);
    store<T>(p, last, lanes, y, pitch, lane_pitch, [&](index_t i) {
      return empty(i) ? static_cast<T>(0) : nearest<T>(room[static_cast<std::size_t>(i - first)]);
    });
  }
}

template <class T, class A>
void lower_root(RowIn acc, index_t, index_t lanes, const LowerParams& params, void* y, index_t pitch,
                index_t lane_pitch) {
  using Count = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
  const A* HWY_RESTRICT a = static_cast<const A*>(acc.value);
  const Count* HWY_RESTRICT missing = params.missing ? static_cast<const Count*>(acc.extra) : nullptr;
  const bool dense = (lane_pitch == 1 || lanes == 1) && pitch == lanes;
  each_run(params, [&](index_t begin, index_t end, index_t, index_t taps) HWY_ATTR {
    if constexpr (std::is_same_v<T, A> && std::is_floating_point_v<A>) {
      if (dense && !missing && taps > 0 && params.norm == 2) {
        return root_row(a + begin * lanes, (end - begin) * lanes, static_cast<A*>(y) + begin * lanes);
      }
    }
    const auto empty = [&](index_t i) { return taps == 0 || (missing && taps <= missing[i]); };
    if constexpr (std::is_floating_point_v<A>) {
      if (params.norm > 2 && lanes <= kRootRoom)
        return store_roots<T>(a, begin, end, lanes, params.norm, y, pitch, lane_pitch, empty);
    }
    store<T>(begin, end, lanes, y, pitch, lane_pitch,
             [&](index_t i) { return empty(i) ? static_cast<T>(0) : root<T>(a[i], params.norm); });
  });
}

template <class T, class A>
void lower_floor_zero(RowIn acc, index_t n, index_t lanes, const LowerParams&, void* y, index_t pitch,
                      index_t lane_pitch) {
  const A* HWY_RESTRICT a = static_cast<const A*>(acc.value);
  store<T>(0, n, lanes, y, pitch, lane_pitch, [a](index_t i) { return nearest<T>(a[i] < A{0} ? A{0} : a[i]); });
}

// Floats to f16 and bf16, rounded once, for dense rows: y[i] = a[i] + 0.
#if ORIEL_HALF_AND_FUSED
constexpr bool kNarrows = true;
#else
constexpr bool kNarrows = false;  // Highway's emulation of f16 knows neither infinities nor NaN
#endif

template <class D>
HWY_INLINE void narrow(D d, const float* a, half* y) {
  const hn::Rebind<hwy::float16_t, D> dh;
  hn::StoreU(hn::DemoteTo(dh, hn::Add(hn::LoadU(d, a), hn::Zero(d))), dh, reinterpret_cast<hwy::float16_t*>(y));
}

template <class D>
HWY_INLINE void narrow(D d, const float* a, bfloat16* y) {
  hn::StoreU(rounded_to<bfloat16>(d, hn::Add(hn::LoadU(d, a), hn::Zero(d))), hn::Rebind<std::uint16_t, D>(),
             reinterpret_cast<std::uint16_t*>(y));
}

template <class T>
HWY_INLINE void narrow_row(const float* a, index_t n, T* y) {
  const hn::ScalableTag<float> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + step <= n; i += step) narrow(d, a + i, y + i);
  if (i < n && n >= step) return narrow(d, a + n - step, y + n - step);
  for (; i < n; ++i) y[i] = static_cast<T>(a[i] + 0.0F);
}

template <class T, class A>
void lower_gradient(RowIn acc, index_t n, index_t lanes, const LowerParams&, void* y, index_t pitch,
                    index_t lane_pitch) {
  const A* HWY_RESTRICT a = static_cast<const A*>(acc.value);
  if constexpr (kNarrows && (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)) {
    if ((lane_pitch == 1 || lanes == 1) && pitch == lanes) return narrow_row(a, n * lanes, static_cast<T*>(y));
  }
  store<T>(0, n, lanes, y, pitch, lane_pitch, [a](index_t i) { return nearest<T>(a[i] + A{0}); });
}

template <class T>
void lower_copy(RowIn acc, index_t n, index_t lanes, const LowerParams&, void* y, index_t pitch, index_t lane_pitch) {
  const T* HWY_RESTRICT a = static_cast<const T*>(acc.value);
  store<T>(0, n, lanes, y, pitch, lane_pitch, [a](index_t i) {
    if constexpr (std::is_same_v<T, bool8>)
      return bool8(a[i].byte != 0);
    else
      return a[i];
  });
}

void lower_key(RowIn acc, index_t n, index_t lanes, const LowerParams&, void* y, index_t pitch, index_t lane_pitch) {
  const std::int16_t* HWY_RESTRICT a = static_cast<const std::int16_t*>(acc.value);
  store<std::int16_t>(0, n, lanes, y, pitch, lane_pitch,
                      [a](index_t i) { return static_cast<std::int16_t>(a[i] ^ ((a[i] >> 15) & 0x7fff)); });
}

// The inverse of `ordered` in convert.cc.
template <Lower kKind, class T, class A>
HWY_INLINE T restored(A a) {
  if constexpr (is_floating_v<T>) {
    if constexpr (kKind == Lower::arg_min)
      return static_cast<T>(-a);
    else if constexpr (kKind == Lower::arg_absolute)
      return static_cast<T>(a < A{0} ? A{0} : a);
    else
      return static_cast<T>(a);
  } else if constexpr (kKind == Lower::arg_absolute) {
    return nearest<T>(static_cast<std::uint64_t>(a) ^ (1ULL << 63));
  } else {
    const A b = kKind == Lower::arg_min ? static_cast<A>(~a) : a;
    if constexpr (std::is_same_v<T, std::uint64_t>)
      return static_cast<T>(b) ^ (1ULL << 63);
    else
      return nearest<T>(b);
  }
}

template <Lower kKind, class T, class A>
void lower_arg(RowIn acc, index_t n, index_t lanes, const LowerParams&, void* y, index_t pitch, index_t lane_pitch) {
  const A* HWY_RESTRICT a = static_cast<const A*>(acc.value);
  store<T>(0, n, lanes, y, pitch, lane_pitch, [a](index_t i) { return restored<kKind, T>(a[i]); });
}

template <Lower kKind, class T>
LowerRow pick_arg(Lane from) {
  if constexpr (is_floating_v<T>) {
    if constexpr (!std::is_same_v<T, double>) {
      if (from == Lane::f32) return &lower_arg<kKind, T, float>;
    }
    return &lower_arg<kKind, T, double>;
  } else {
    return from == Lane::i32 ? &lower_arg<kKind, T, std::int32_t> : &lower_arg<kKind, T, std::int64_t>;
  }
}

template <class T, bool kAverage>
LowerRow pick_sum(Lane from) {
  if constexpr (std::is_same_v<T, double>)
    return &lower_sum<T, double, kAverage>;
  else if constexpr (is_floating_v<T>)
    return &lower_sum<T, float, kAverage>;
  else
    return from == Lane::i32 ? &lower_sum<T, std::int32_t, kAverage> : &lower_sum<T, std::int64_t, kAverage>;
}

template <class T>
LowerRow pick_lower(Lower kind, Lane from) {
  constexpr bool floating = is_floating_v<T>;
  using A = std::conditional_t<floating, accumulator_t<T>, std::int64_t>;
  switch (kind) {
    case Lower::none:
      return nullptr;
    case Lower::copy:
      return &lower_copy<T>;
    case Lower::key:
      return &lower_key;
    case Lower::round:
      return pick_sum<T, false>(from);
    case Lower::average:
      return pick_sum<T, true>(from);
    case Lower::root:
      if constexpr (!floating) {
        if (from == Lane::f64) return &lower_root<T, double>;
      }
      return &lower_root<T, A>;
    case Lower::floor_zero:
      return &lower_floor_zero<T, std::conditional_t<floating, A, std::uint64_t>>;
    case Lower::arg_max:
      return pick_arg<Lower::arg_max, T>(from);
    case Lower::arg_min:
      return pick_arg<Lower::arg_min, T>(from);
    case Lower::arg_absolute:
      return pick_arg<Lower::arg_absolute, T>(from);
    case Lower::gradient:
      return &lower_gradient<T, A>;
  }
  return nullptr;
}

LowerRow lower(Lower kind, Lane from, Dtype to) {
  return visit(to, [&]<class T>() { return pick_lower<T>(kind, from); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(lower);
}
void fill_lower(KernelTable& table, std::size_t which) { table.lower = HWY_DISPATCH_TABLE(lower)[which]; }
}  // namespace oriel::cpu
#endif
