#include "cpu/states/lower_kernels.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/element/long_sum.h"
#include "cpu/element/quotient.h"
#include "cpu/gathered/results.h"
#include "real_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/states/lower_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/simd/norm_powers-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using RealTag = hn::CappedTag<double, kRowStep>;

// Calls body(i) for every vector of a row of numbers.
template <class Body>
HWY_INLINE void each_vector(index_t n, const Body& body) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(RealTag()));
  for (index_t i = 0; i < n; i += lanes) body(i);
}

void divide(const double* a, const double* b, index_t n, double* out) {
  const RealTag d;
  each_vector(n,
              [&](index_t i) HWY_ATTR { hn::StoreU(hn::Div(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i); });
}

void take_roots(double* v, index_t n) {
  const RealTag d;
  each_vector(n, [&](index_t i) HWY_ATTR { hn::StoreU(hn::Sqrt(hn::LoadU(d, v + i)), d, v + i); });
}

template <class A>
void widen(const A* from, index_t n, double* out) {
  for (index_t i = 0; i < whole_steps(n); ++i) out[i] = static_cast<double>(from[i]);
}

// The number that is kept in A's bits.
template <class A>
constexpr std::int64_t number(A v, bool is_signed) {
  if constexpr (sizeof(A) == 4) return is_signed ? static_cast<std::int32_t>(v) : static_cast<std::int64_t>(v);
  return static_cast<std::int64_t>(v);
}

template <class R>
HWY_INLINE R nearest(double v) {
  if constexpr (std::is_same_v<R, bool8>) {
    return bool8(std::rint(v) > 0);
  } else if constexpr (is_floating_v<R>) {
    return static_cast<R>(v);
  } else {
    const double r = std::rint(v);
    if (r != r) return R{0};
    if (r <= static_cast<double>(lowest_value<R>())) return lowest_value<R>();
    return r >= static_cast<double>(highest_value<R>()) ? highest_value<R>() : static_cast<R>(r);
  }
}

template <class R>
HWY_INLINE R nearest(wide_int v) {
  if constexpr (std::is_same_v<R, bool8>) {
    return bool8(v > 0);
  } else if constexpr (std::is_same_v<R, half> || std::is_same_v<R, bfloat16>) {
    return static_cast<R>(static_cast<double>(v));
  } else if constexpr (is_floating_v<R>) {
    return static_cast<R>(v);
  } else {
    const wide_int low = lowest_value<R>(), high = highest_value<R>();
    return static_cast<R>(v < low ? low : v > high ? high : v);
  }
}

HWY_INLINE wide_int half_even(wide_int n, wide_int d) {
  wide_int q = n / d, r = n % d;
  if (r < 0) {
    r += d;
    --q;
  }
  return r > d - r || (r == d - r && q % 2 != 0) ? q + 1 : q;
}

template <class R>
R quotient(wide_int n, wide_int d) {
  if constexpr (std::is_same_v<R, float>)
    return rounded_quotient<float>(n, d);
  else if constexpr (is_floating_v<R>)
    return nearest<R>(rounded_quotient<double>(n, d));
  else
    return nearest<R>(half_even(n, d));
}

// Quotients n / d of integers are those of f64 rounded again if n is below kExactAbove and d below kExactBelow: the
// quotient is then no nearer to the middle of two floats, or of two integers, than an f64 can tell.
constexpr double kExactAbove = 0x1p52, kExactBelow = 0x1p26;

bool within(const double* v, index_t n, double most) {
  bool all = true;
  for (index_t i = 0; i < n; ++i) all &= std::fabs(v[i]) < most;
  return all;
}

template <class R>
void put_numbers(const double* v, index_t n, R* y) {
  for (index_t i = 0; i < n; ++i) y[i] = nearest<R>(v[i]);
}

template <class R>
void put_fill(const LowerRow& row, const LowerRule& rule, R* y) {
  R fill;
  std::memcpy(&fill, rule.fill.data(), sizeof(R));
  if (rule.fraction > 0) {
    for (index_t i = 0; i < row.n; ++i)
      y[i] = row.count[i] >= rule.least && row.count[i] >= rule.fraction * row.existing[i] ? y[i] : fill;
    return;
  }
  for (index_t i = 0; i < row.n; ++i) y[i] = row.count[i] >= rule.least ? y[i] : fill;
}

// Nothing is 0, not the -0 that is added where a tap is absent.
void put_zeros(const LowerRow& row, double* v) {
  const RealTag d;
  each_vector(row.n, [&](index_t i) HWY_ATTR {
    const auto nothing = hn::Eq(hn::LoadU(d, row.count + i), hn::Zero(d));
    hn::StoreU(hn::IfThenZeroElse(nothing, hn::LoadU(d, v + i)), d, v + i);
  });
}

const double* real_sums(const LowerRow& row, const LowerRule& rule) {
  if (rule.join != Join::add_f32) return row.state.as<double>(0);
  widen(row.state.as<float>(0), row.n, row.room);
  return row.room;
}

void average(const LowerRow& row, const LowerRule& rule) {
  const double* sum = real_sums(row, rule);
  if (rule.odd) {
    for (index_t i = 0; i < row.n; ++i) row.room[i] = odd_quotient(sum[i], static_cast<index_t>(row.divisor[i]));
    sum = row.room;
  }
  const RealTag d;
  each_vector(row.n, [&](index_t i) HWY_ATTR {
    const auto by = hn::LoadU(d, row.divisor + i), zero = hn::Zero(d);
    auto v = hn::LoadU(d, sum + i);
    if (!rule.odd) v = hn::Div(v, by);
    const auto nothing = hn::Or(hn::Eq(by, zero), hn::Eq(hn::LoadU(d, row.count + i), zero));
    hn::StoreU(hn::IfThenZeroElse(nothing, v), d, row.room + i);
  });
}

void variance(const LowerRow& row, const LowerRule& rule) {
  const RealTag d;
  const double* count = rule.weighted ? row.state.as<double>(2) : row.count;
  const double* apart = row.state.as<double>(1);
  const auto ddof = hn::Set(d, rule.ddof);
  each_vector(row.n, [&](index_t i) HWY_ATTR {
    const auto v = hn::Div(hn::LoadU(d, apart + i), hn::Sub(hn::LoadU(d, count + i), ddof));
    hn::StoreU(rule.takes_root ? hn::Sqrt(v) : v, d, row.room + i);
  });
}

void geometric(const LowerRow& row) {
  const double* sum = row.state.as<double>(0);
  const std::uint32_t* zeros = row.state.as<std::uint32_t>(1);
  divide(sum, row.count, row.n, row.room);
  for (index_t i = 0; i < row.n; ++i)
    row.room[i] = zeros[i] != 0 ? (sum[i] != sum[i] ? sum[i] : 0) : fixed_exp(row.room[i]);
}

// Results that are numbers of f64 before they are rounded, in row.room or where this returns.
const double* real_values(const LowerRow& row, const LowerRule& rule) {
  double* v = row.room;
  switch (rule.value) {
    case Value::real:
      if (const double* sum = real_sums(row, rule); sum != v) std::copy_n(sum, row.n, v);
      if (rule.join != Join::multiply_f64) put_zeros(row, v);
      break;
    case Value::real_average:
      average(row, rule);
      break;
    case Value::weighted_average:
      divide(row.state.as<double>(0), row.state.as<double>(1), row.n, v);
      put_zeros(row, v);
      break;
    case Value::root:
      if (const double* sum = real_sums(row, rule); sum != v) std::copy_n(sum, row.n, v);
      take_roots(v, row.n);
      put_zeros(row, v);
      break;
    case Value::power_root:
      if (const double* sum = real_sums(row, rule); sum != v) std::copy_n(sum, row.n, v);
      put_zeros(row, v);
      take_norm_roots(v, row.n, rule.norm);
      break;
    case Value::variance:
      variance(row, rule);
      break;
    case Value::mean_square:
    case Value::weighted_mean_square:
      divide(row.state.as<double>(0), rule.value == Value::mean_square ? row.count : row.state.as<double>(1), row.n, v);
      take_roots(v, row.n);
      break;
    case Value::geometric:
      geometric(row);
      break;
    default:
      divide(row.count, row.state.as<double>(0), row.n, v);
      break;
  }
  return v;
}

template <class R, class A>
void put_whole_averages(const LowerRow& row, const LowerRule& rule, R* y) {
  const A* sum = row.state.as<A>(0);
  double* v = row.room;
  if (rule.is_signed) {
    for (index_t i = 0; i < row.n; ++i) v[i] = static_cast<double>(number(sum[i], true));
  } else {
    widen(sum, row.n, v);
  }
  if (rule.small || (within(v, row.n, kExactAbove) && within(row.divisor, row.n, kExactBelow))) {
    divide(v, row.divisor, row.n, v);
    for (index_t i = 0; i < row.n; ++i) v[i] = row.divisor[i] == 0 ? 0 : v[i];
    return put_numbers(v, row.n, y);
  }
  for (index_t i = 0; i < row.n; ++i) {
    const wide_int n = rule.is_signed ? wide_int{number(sum[i], true)} : wide_int{sum[i]};
    const auto d = static_cast<wide_int>(row.divisor[i]);
    y[i] = d == 0 ? nearest<R>(wide_int{0}) : quotient<R>(n, d);
  }
}

// Sums or quotients of 64-bit integers.
template <class R>
void put_long(const LowerRow& row, const LowerRule& rule, R* y) {
  const std::uint64_t *low = row.state.as<std::uint64_t>(0), *high = row.state.as<std::uint64_t>(1);
  if (std::is_same_v<R, double> && rule.small) {
    const bool average = rule.value == Value::long_average;
    for (index_t i = 0; i < row.n; ++i) {
      const double divisor = average ? row.divisor[i] : 1;
      const double v = short_ratio(LongSum{static_cast<std::int64_t>(high[i]), low[i]}, divisor == 0 ? 1 : divisor);
      y[i] = static_cast<R>(divisor == 0 ? 0 : v);
    }
    return;
  }
  for (index_t i = 0; i < row.n; ++i) {
    const LongSum sum{static_cast<std::int64_t>(high[i]), low[i]};
    const index_t divisor = rule.value == Value::long_sum ? 1 : static_cast<index_t>(row.divisor[i]);
    y[i] = divisor == 0 ? R{0} : rounded_ratio<R>(sum, divisor);
  }
}

template <class R, class A>
void put_exact(const LowerRow& row, const LowerRule& rule, R* y) {
  const bool variance = rule.value == Value::exact_variance;
  const A *first = row.state.as<A>(0), *second = row.state.as<A>(variance ? 1 : 0);
  double* v = row.room;
  bool fits = true;
  for (index_t i = 0; i < row.n; ++i) {
    const auto n = static_cast<std::uint64_t>(row.count[i]);
    const auto sum = static_cast<std::uint64_t>(number(first[i], rule.is_signed));
    const auto squares = static_cast<std::uint64_t>(second[i]);
    const std::uint64_t above = variance ? n * squares - sum * sum : squares;
    const double below = variance ? row.count[i] * (row.count[i] - rule.ddof) : row.count[i];
    fits &= above < (std::uint64_t{1} << 52) && below < (rule.takes_root ? kExactAbove : kExactBelow);
    v[i] = static_cast<double>(above) / below;
  }
  if (!fits) {
    for (index_t i = 0; i < row.n; ++i) {
      const auto n = static_cast<wide_int>(row.count[i]);
      const wide_int sum = number(first[i], rule.is_signed), squares = second[i];
      const wide_int above = variance ? n * squares - sum * sum : squares;
      const wide_int below = variance ? n * (n - static_cast<wide_int>(rule.ddof)) : n;
      if (below <= 0) continue;  // filled
      if (!rule.takes_root) {
        y[i] = quotient<R>(above, below);
        continue;
      }
      v[i] = rounded_quotient<double>(above, below);
    }
    if (!rule.takes_root) return;
  }
  if (rule.takes_root) take_roots(v, row.n);
  put_numbers(v, row.n, y);
}

// The integer nearest to the square root, which is never half-way.
std::uint64_t nearest_root(std::uint64_t u) {
  auto r = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(u)));
  while (r > 0xffffffffULL || r * r > u) --r;
  while (r < 0xffffffffULL && (r + 1) * (r + 1) <= u) ++r;
  return u - r * r > r ? r + 1 : r;
}

// Sums, products and counts.
template <class R, class A>
void put_whole(const LowerRow& row, const LowerRule& rule, R* y) {
  const A* v = row.state.as<A>(0);
  const auto each = [&](const auto& of) HWY_ATTR {
    for (index_t i = 0; i < row.n; ++i) y[i] = of(v[i]);
  };
  switch (rule.value) {
    case Value::positive:
      return each([](A x) HWY_ATTR { return static_cast<R>(x != 0); });
    case Value::none:
      return each([](A x) HWY_ATTR { return static_cast<R>(x == 0); });
    case Value::whole_root:
      return each([](A x) HWY_ATTR { return nearest<R>(wide_int{nearest_root(x)}); });
    case Value::whole_real_root:
      return each([](A x) HWY_ATTR { return nearest<R>(std::sqrt(static_cast<double>(x))); });
    default:
      break;
  }
  constexpr bool kFloats = std::is_same_v<R, float> || std::is_same_v<R, double>;
  if (rule.is_signed) {
    if constexpr (kFloats) return each([](A x) HWY_ATTR { return static_cast<R>(number(x, true)); });
    return each([](A x) HWY_ATTR { return nearest<R>(wide_int{number(x, true)}); });
  }
  if constexpr (kFloats) return each([](A x) HWY_ATTR { return static_cast<R>(x); });
  return each([](A x) HWY_ATTR { return nearest<R>(wide_int{x}); });
}

template <class R, class A>
void put_integers(const LowerRow& row, const LowerRule& rule, R* y) {
  switch (rule.value) {
    case Value::whole_average:
      return put_whole_averages<R, A>(row, rule, y);
    case Value::exact_variance:
    case Value::exact_mean_square:
      if constexpr (std::is_floating_point_v<R>) return put_exact<R, A>(row, rule, y);
      return;
    case Value::long_sum:
    case Value::long_average:
      if constexpr (std::is_floating_point_v<R> && sizeof(A) == 8) return put_long<R>(row, rule, y);
      return;
    default:
      return put_whole<R, A>(row, rule, y);
  }
}

void lower(const LowerRow& row, const LowerRule& rule) {
  visit(rule.result, [&]<class R>() HWY_ATTR {
    R* y = static_cast<R*>(row.y);
    if (rule.join == Join::add_u32) {
      put_integers<R, std::uint32_t>(row, rule, y);
    } else if (rule.join == Join::add_u64 || rule.join == Join::multiply_u64) {
      put_integers<R, std::uint64_t>(row, rule, y);
    } else {
      put_numbers(real_values(row, rule), row.n, y);
    }
    if (rule.lacks) put_fill(row, rule, y);
  });
}

void widen_counts(const std::uint32_t* counts, index_t n, double* out) { widen(counts, n, out); }

LowerTable lowers() { return {&lower, &widen_counts}; }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {

HWY_EXPORT(lowers);
void fill(LowerTable& table, std::size_t which) { table = HWY_DISPATCH_TABLE(lowers)[which](); }

}  // namespace

const LowerTable& lower_elements() {
  static const PerTarget<LowerTable> all{&fill};
  return all.active();
}

}  // namespace oriel::cpu
#endif
