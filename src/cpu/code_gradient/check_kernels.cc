// Whether stored codes are of taps that exist, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/code_gradient/check_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/code_gradient/check_kernels.h"
#include "cpu/element/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether all codes of vectors that cover them are below `taps`, or 255, which becomes 0.
template <class D>
HWY_INLINE bool in_window_by(D d, const Code* code, index_t n, index_t taps) {
  auto most = hn::Zero(d);
  cover_by(d, n, [&](auto, index_t i) HWY_ATTR {
    most = hn::Max(most, hn::Add(hn::LoadU(d, code + i), hn::Set(d, Code{1})));
  });
  return hn::AllTrue(d, hn::Eq(hn::Min(most, hn::Set(d, static_cast<Code>(taps))), most));
}

bool in_window(const Code* code, index_t n, index_t taps) {
  const hn::ScalableTag<Code> d;
  const hn::CappedTag<Code, 16> few;
  if (n >= static_cast<index_t>(hn::Lanes(d))) return in_window_by(d, code, n, taps);
  if (n >= static_cast<index_t>(hn::Lanes(few))) return in_window_by(few, code, n, taps);
  return in_window_by(hn::CappedTag<Code, 1>(), code, n, taps);
}

#if HWY_TARGET != HWY_SCALAR
// The digits of codes as bits, and those that outputs forbid; codes of 16 and more are none of theirs.
template <class D>
HWY_INLINE bool allowed_by(D d, const CodeBits& bits, const Code* plane, const index_t* begin, Range rows, index_t n) {
  const hn::CappedTag<Code, 16> few;
  alignas(16) Code codes[16];
  hn::Store(hn::Load(few, bits.digits), few, codes);
  const auto digits = hn::LoadDup128(d, codes);
  const auto one = hn::Set(d, Code{1});
  auto most = hn::Zero(d), bad = hn::Zero(d);
  for (index_t r = rows.begin; r < rows.end; ++r) {
    const Code* code = plane + begin[r];
    const auto row = hn::Set(d, bits.row[r]);
    cover_by(d, n, [&](auto, index_t i) HWY_ATTR {
      const auto c = hn::LoadU(d, code + i);
      const auto forbidden = hn::Or(hn::LoadU(d, bits.column + i), row);
      bad = hn::Or(bad, hn::And(hn::TableLookupBytesOr0(digits, c), forbidden));
      most = hn::Max(most, hn::Add(c, one));
    });
  }
  const auto inside = hn::Eq(hn::Min(most, hn::Set(d, static_cast<Code>(bits.taps))), most);
  return hn::AllTrue(d, hn::And(inside, hn::Eq(bad, hn::Zero(d))));
}

#endif

bool allowed(const CodeBits& bits, const Code* plane, const index_t* begin, Range rows, index_t n) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<Code> d;
  const hn::CappedTag<Code, 32> half;
  const hn::CappedTag<Code, 16> few;
  if (n >= static_cast<index_t>(hn::Lanes(d))) return allowed_by(d, bits, plane, begin, rows, n);
  if (n >= static_cast<index_t>(hn::Lanes(half))) return allowed_by(half, bits, plane, begin, rows, n);
  if (n >= static_cast<index_t>(hn::Lanes(few))) return allowed_by(few, bits, plane, begin, rows, n);
#endif
  bool fine = true;
  for (index_t r = rows.begin; r < rows.end; ++r) {
    for (index_t i = 0; i < n; ++i) {
      const Code c = plane[begin[r] + i];
      fine &= c == 255 || (c < bits.taps && (bits.digits[c] & (bits.row[r] | bits.column[i])) == 0);
    }
  }
  return fine;
}

// Codes of a vector of outputs in 16 bits; digits from the last axis on. c / k is (c * m) >> 16 for m = 2^16 / k
// rounded up, where c * k < 2^16.
template <class D>
HWY_INLINE hn::Mask<D> missing(D d, const Code* code, index_t i, const CodeLimits* axes, int count) {
  const hn::Rebind<Code, D> d8;
  const auto load = [&](const std::uint8_t* bytes, bool each) HWY_ATTR {
    return each ? hn::PromoteTo(d, hn::LoadU(d8, bytes + i)) : hn::Set(d, std::uint16_t{bytes[0]});
  };
  auto rest = hn::PromoteTo(d, hn::LoadU(d8, code + i));
  const auto some = hn::Ne(rest, hn::Set(d, std::uint16_t{255}));
  auto bad = hn::Ne(rest, rest);
  for (int a = 0; a < count; ++a) {
    const CodeLimits& axis = axes[a];
    const auto kernel = static_cast<std::uint16_t>(axis.kernel);
    auto digit = rest;
    if (a + 1 < count && kernel > 1) {
      rest = hn::MulHigh(rest, hn::Set(d, static_cast<std::uint16_t>((65536 + kernel - 1) / kernel)));
      digit = hn::Sub(digit, hn::Mul(rest, hn::Set(d, kernel)));
    } else if (kernel == 1) {
      digit = hn::Zero(d);
    }
    const auto from = hn::Sub(digit, load(axis.low, axis.each));  // modulo 2^16: above all sizes where it is less
    const auto size = load(axis.size, axis.each);
    bad = hn::Or(bad, hn::Eq(hn::Max(from, size), from));
  }
  return hn::And(bad, some);
}

template <class D>
HWY_INLINE bool exist_by(D d, const Code* code, index_t n, const CodeLimits* axes, int count) {
  auto bad = hn::Ne(hn::Zero(d), hn::Zero(d));
  cover_by(d, n, [&](auto, index_t i) HWY_ATTR { bad = hn::Or(bad, missing(d, code, i, axes, count)); });
  return hn::AllFalse(d, bad);
}

bool exist(const Code* code, index_t n, const CodeLimits* axes, int count) {
  const hn::ScalableTag<std::uint16_t> d;
  const hn::CappedTag<std::uint16_t, 8> few;
  if (n >= static_cast<index_t>(hn::Lanes(d))) return exist_by(d, code, n, axes, count);
  if (n >= static_cast<index_t>(hn::Lanes(few))) return exist_by(few, code, n, axes, count);
  return exist_by(hn::CappedTag<std::uint16_t, 1>(), code, n, axes, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(in_window);
HWY_EXPORT(exist);
HWY_EXPORT(allowed);
}  // namespace
const CodeCheckTable& code_check_table() {
  static const PerTarget<CodeCheckTable> tables{[](CodeCheckTable& table, std::size_t which) {
    table.in_window = HWY_DISPATCH_TABLE(in_window)[which];
    table.exist = HWY_DISPATCH_TABLE(exist)[which];
    table.allowed = HWY_DISPATCH_TABLE(allowed)[which];
  }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
