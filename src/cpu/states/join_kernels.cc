#include "cpu/states/join_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/states/join_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(i) for every vector of a row.
template <class D, class Body>
HWY_INLINE void each_vector(D d, index_t n, const Body& body) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < n; i += lanes) body(i);
}

template <class A, bool kMultiply>
void combine(Fields fa, Fields fb, Fields out, index_t n, const JoinScale&) {
  const hn::CappedTag<A, kRowStep> d;
  const A *a = fa.as<A>(), *b = fb.as<A>();
  A* to = out.as<A>();
  each_vector(d, n, [&](index_t i) HWY_ATTR {
    const auto va = hn::LoadU(d, a + i), vb = hn::LoadU(d, b + i);
    if constexpr (kMultiply)
      hn::StoreU(hn::Mul(va, vb), d, to + i);
    else
      hn::StoreU(hn::Add(va, vb), d, to + i);
  });
}

void multiply_u64(Fields fa, Fields fb, Fields out, index_t n, const JoinScale&) {
  const std::uint64_t *a = fa.as<std::uint64_t>(), *b = fb.as<std::uint64_t>();
  std::uint64_t* to = out.as<std::uint64_t>();
  for (index_t i = 0; i < whole_steps(n); ++i) to[i] = a[i] * b[i];
}

using RealTag = hn::CappedTag<double, kRowStep>;
using Reals = hn::Vec<RealTag>;

// S and M of both parts to those of the whole; between(Sa, Sb) is what M grows by.
template <class Between>
HWY_INLINE void join_moments(Fields a, Fields b, Fields out, index_t n, const Between& between) {
  const RealTag d;
  const double *sum_a = a.as<double>(0), *sum_b = b.as<double>(0), *apart_a = a.as<double>(1),
               *apart_b = b.as<double>(1);
  double *sum = out.as<double>(0), *apart = out.as<double>(1);
  each_vector(d, n, [&](index_t i) HWY_ATTR {
    const auto sa = hn::LoadU(d, sum_a + i), sb = hn::LoadU(d, sum_b + i);
    const auto within = hn::Add(hn::LoadU(d, apart_a + i), hn::LoadU(d, apart_b + i));
    hn::StoreU(hn::Add(sa, sb), d, sum + i);
    hn::StoreU(hn::Add(within, between(sa, sb)), d, apart + i);
  });
}

void moments(Fields a, Fields b, Fields out, index_t n, const JoinScale& scale) {
  const RealTag d;
  const auto factor_a = hn::Set(d, scale.a), factor_b = hn::Set(d, scale.b);
  const auto divisor = hn::Set(d, scale.divisor), high = hn::Set(d, scale.high);
  [[maybe_unused]] const auto low = hn::Set(d, scale.low);
  switch (scale.way) {
    case JoinScale::Way::halves:
      return join_moments(a, b, out, n, [&](Reals sa, Reals sb) HWY_ATTR {
        const auto x = hn::Sub(sb, sa);
        return hn::Mul(hn::Mul(x, x), high);
      });
#if ORIEL_HALF_AND_FUSED
    case JoinScale::Way::equal:
      return join_moments(a, b, out, n, [&](Reals sa, Reals sb) HWY_ATTR {
        const auto x = hn::Sub(sb, sa), square = hn::Mul(x, x);
        return hn::MulAdd(square, high, hn::Mul(square, low));
      });
    case JoinScale::Way::multiply:
      return join_moments(a, b, out, n, [&](Reals sa, Reals sb) HWY_ATTR {
        const auto x = hn::Sub(sa, hn::Mul(factor_b, sb)), square = hn::Mul(x, x);
        return hn::MulAdd(square, high, hn::Mul(square, low));
      });
    case JoinScale::Way::multiply_both:
      return join_moments(a, b, out, n, [&](Reals sa, Reals sb) HWY_ATTR {
        const auto x = hn::Sub(hn::Mul(factor_a, sa), hn::Mul(factor_b, sb)), square = hn::Mul(x, x);
        return hn::MulAdd(square, high, hn::Mul(square, low));
      });
#endif
    default:
      return join_moments(a, b, out, n, [&](Reals sa, Reals sb) HWY_ATTR {
        const auto x = hn::Sub(hn::Mul(factor_a, sa), hn::Mul(factor_b, sb));
        return hn::Div(hn::Mul(x, x), divisor);
      });
  }
}

void counted(Fields a, Fields b, Fields out, index_t n, const JoinScale&) {
  const RealTag d;
  each_vector(d, n, [&](index_t i) HWY_ATTR {
    const auto zero = hn::Zero(d);
    const auto sa = hn::LoadU(d, a.as<double>(0) + i), sb = hn::LoadU(d, b.as<double>(0) + i);
    const auto ma = hn::LoadU(d, a.as<double>(1) + i), mb = hn::LoadU(d, b.as<double>(1) + i);
    const auto na = hn::LoadU(d, a.as<double>(2) + i), nb = hn::LoadU(d, b.as<double>(2) + i);
    const auto no_a = hn::Eq(na, zero), no_b = hn::Eq(nb, zero);
    const auto all = hn::Add(na, nb);
    const auto alike = hn::Eq(na, nb);
    const auto x = hn::IfThenElse(alike, hn::Sub(sb, sa), hn::Sub(hn::Mul(nb, sa), hn::Mul(na, sb)));
    const auto below = hn::IfThenElse(alike, all, hn::Mul(hn::Mul(na, nb), all));
    const auto between = hn::Div(hn::Mul(x, x), below);
    auto sum = hn::Add(sa, sb), apart = hn::Add(hn::Add(ma, mb), between);
    sum = hn::IfThenElse(no_b, sa, sum);
    sum = hn::IfThenElse(no_a, sb, sum);
    // A part whose weights cancel is left out, but for a tap in it that is not finite.
    apart = hn::IfThenElse(no_b, hn::IfThenElse(hn::IsNaN(mb), mb, ma), apart);
    apart = hn::IfThenElse(no_a, hn::IfThenElse(hn::IsNaN(ma), ma, mb), apart);
    hn::StoreU(sum, d, out.as<double>(0) + i);
    hn::StoreU(apart, d, out.as<double>(1) + i);
    hn::StoreU(all, d, out.as<double>(2) + i);
  });
}

JoinTable joins() {
  return {&combine<std::uint32_t, false>,
          &combine<std::uint64_t, false>,
          &combine<float, false>,
          &combine<double, false>,
          &combine<double, true>,
          &multiply_u64,
          &moments,
          &counted};
}

bool has_fused() { return ORIEL_HALF_AND_FUSED; }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>
#include <cmath>

#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {

HWY_EXPORT(joins);
HWY_EXPORT(has_fused);

struct Table {
  JoinTable joins;
  bool fused = false;
};

void fill(Table& table, std::size_t which) {
  table.joins = HWY_DISPATCH_TABLE(joins)[which]();
  table.fused = HWY_DISPATCH_TABLE(has_fused)[which]();
}

const Table& table() {
  static const PerTarget<Table> all{&fill};
  return all.active();
}

bool is_power_of_two(index_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }

}  // namespace

const JoinTable& join_rows() { return table().joins; }
bool fuses() { return table().fused; }

// Scaling by a power of two is exact, so for bounded sums it may be left out before the square and made up for in the
// divisor. A quotient x / d with d < 2^48 is at least 2^-49 units in the last place from the middle of two numbers, and
// x high + x low, with the first product and the sum fused, is off by less than 2^-51: rounded, both are the same.
JoinScale make_scale(index_t na, index_t nb, bool bounded) {
  JoinScale s;
  s.na = na;
  s.nb = nb;
  if (na == nb) {
    s.divisor = 2 * static_cast<double>(na);
    if (is_power_of_two(na)) s.way = JoinScale::Way::halves;
  } else {
    s.a = static_cast<double>(nb);
    s.b = static_cast<double>(na);
    s.divisor = s.b * s.a * (s.b + s.a);
  }
  s.high = 1 / s.divisor;
  if (!bounded || s.way == JoinScale::Way::halves || !fuses() || s.divisor >= 0x1p48) return s;
  s.way = na == nb ? JoinScale::Way::equal : JoinScale::Way::multiply_both;
  if (na != nb && is_power_of_two(nb)) {
    s.way = JoinScale::Way::multiply;
    s.divisor /= s.a * s.a;
    s.b /= s.a;
    s.a = 1;
  }
  s.high = 1 / s.divisor;
  s.low = std::fma(-s.high, s.divisor, 1.0) / s.divisor;
  return s;
}

}  // namespace oriel::cpu
#endif
