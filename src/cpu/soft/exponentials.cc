#include "cpu/soft/exponentials.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/soft/exponentials.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/states/state.h"
#include "hwy/highway.h"
#include "real_functions.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using RealTag = hn::CappedTag<double, kRowStep>;
using Reals = hn::Vec<RealTag>;

HWY_INLINE hn::Mask<RealTag> load_valid(const std::uint32_t* valid) {
  const RealTag d;
  const hn::Rebind<std::uint32_t, RealTag> narrow;
  return hn::Ne(hn::PromoteTo(d, hn::BitCast(hn::RebindToSigned<decltype(narrow)>(), hn::LoadU(narrow, valid))),
                hn::Zero(d));
}

void find_largest(const TapRow& tap, double* largest, std::uint32_t* count) {
  const RealTag d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < tap.n; i += lanes) {
    const auto x = hn::LoadU(d, tap.x + i), most = hn::LoadU(d, largest + i);
    const auto better = hn::And(load_valid(tap.valid + i), hn::Or(hn::Gt(x, most), hn::IsNaN(x)));
    hn::StoreU(hn::IfThenElse(better, x, most), d, largest + i);
  }
  for (index_t i = 0; i < whole_steps(tap.n); ++i) count[i] += tap.valid[i];
}

// fixed_exp of numbers that are not positive, operation by operation.
HWY_INLINE Reals exponential(Reals x) {
  const RealTag d;
  const hn::RebindToSigned<RealTag> di;
  const auto least = hn::Set(d, -745.1332191019412);
  const auto none = hn::Lt(x, least);
  x = hn::IfThenElse(none, least, x);
  const auto shift = hn::Set(d, detail::kRoundingShift);
  const auto shifted = hn::Add(hn::Mul(x, hn::Set(d, detail::kLog2OfE)), shift);
  const auto k = hn::Sub(shifted, shift);
  const auto r = hn::Sub(hn::Sub(x, hn::Mul(k, hn::Set(d, detail::kLn2High))), hn::Mul(k, hn::Set(d, detail::kLn2Low)));
  auto p = hn::Set(d, 1.0 / 6227020800.0);
  const auto step = [&](double c) HWY_ATTR { p = hn::Add(hn::Mul(p, r), hn::Set(d, c)); };
  step(1.0 / 479001600.0);
  step(1.0 / 39916800.0);
  step(1.0 / 3628800.0);
  step(1.0 / 362880.0);
  step(1.0 / 40320.0);
  step(1.0 / 5040.0);
  step(1.0 / 720.0);
  step(1.0 / 120.0);
  step(1.0 / 24.0);
  step(1.0 / 6.0);
  step(0.5);
  const auto power = hn::Add(hn::Set(d, 1.0), hn::Add(r, hn::Mul(hn::Mul(r, r), p)));
  // The last bits of `shifted` are those of the exponent, which is not positive.
  const auto e = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, shift));
  const auto half = hn::ShiftRight<1>(hn::Add(e, hn::Set(di, 1))), rest = hn::Sub(e, half);
  const auto bias = hn::Set(di, 1023);
  const auto scale = [&](hn::Vec<decltype(di)> by)
                         HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(by, bias))); };
  return hn::IfThenZeroElse(none, hn::Mul(hn::Mul(power, scale(half)), scale(rest)));
}

void exponentials(const TapRow& tap, const double* largest, double r, double* sum, double* weighted) {
  const RealTag d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  const auto absent = hn::Set(d, -0.0), sharpness = hn::Set(d, r);
  for (index_t i = 0; i < tap.n; i += lanes) {
    const auto valid = load_valid(tap.valid + i);
    const auto x = hn::LoadU(d, tap.x + i);
    const auto e = exponential(hn::Mul(sharpness, hn::Sub(x, hn::LoadU(d, largest + i))));
    hn::StoreU(hn::IfThenElse(valid, e, absent), d, sum + i);
    if (weighted == nullptr) continue;
    const auto product = hn::IfThenZeroElse(hn::Eq(e, hn::Zero(d)), hn::Mul(x, e));
    hn::StoreU(hn::IfThenElse(valid, product, absent), d, weighted + i);
  }
}

ExponentialTable exponential_kernels() { return {&find_largest, &exponentials}; }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {

HWY_EXPORT(exponential_kernels);
void fill(ExponentialTable& table, std::size_t which) { table = HWY_DISPATCH_TABLE(exponential_kernels)[which](); }

}  // namespace

const ExponentialTable& exponential_rows() {
  static const PerTarget<ExponentialTable> all{&fill};
  return all.active();
}

}  // namespace oriel::cpu
#endif
