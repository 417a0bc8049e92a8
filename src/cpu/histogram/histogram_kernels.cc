#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/histogram/histogram_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/histogram/histogram_kernels.h"
#include "hwy/highway.h"

#ifndef ORIEL_HISTOGRAM_STEPS
#define ORIEL_HISTOGRAM_STEPS
namespace oriel::cpu {
// What an element in bin c adds to 16 counts: 1 from c on.
struct alignas(64) BinSteps {
  std::array<std::array<std::uint8_t, kBins>, kBins> of{};

  constexpr BinSteps() {
    for (std::size_t c = 0; c < of.size(); ++c)
      for (std::size_t b = c; b < of.size(); ++b) of[c][b] = 1;
  }
};
inline constexpr BinSteps kBinSteps;
}  // namespace oriel::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
struct Bytes16 {
  std::array<std::uint8_t, 16> v;
};
HWY_INLINE Bytes16 load16(const std::uint8_t* from) {
  Bytes16 b;
  std::memcpy(b.v.data(), from, 16);
  return b;
}
HWY_INLINE void store16(const Bytes16& b, std::uint8_t* to) { std::memcpy(to, b.v.data(), 16); }
HWY_INLINE Bytes16 add16(Bytes16 a, const Bytes16& b) {
  for (std::size_t i = 0; i < 16; ++i) a.v[i] = static_cast<std::uint8_t>(a.v[i] + b.v[i]);
  return a;
}
HWY_INLINE Bytes16 sub16(Bytes16 a, const Bytes16& b) {
  for (std::size_t i = 0; i < 16; ++i) a.v[i] = static_cast<std::uint8_t>(a.v[i] - b.v[i]);
  return a;
}
#else
using Bytes16 = hn::Vec<hn::FixedTag<std::uint8_t, 16>>;
HWY_INLINE Bytes16 load16(const std::uint8_t* from) { return hn::Load(hn::FixedTag<std::uint8_t, 16>(), from); }
HWY_INLINE void store16(Bytes16 b, std::uint8_t* to) { hn::Store(b, hn::FixedTag<std::uint8_t, 16>(), to); }
HWY_INLINE Bytes16 add16(Bytes16 a, Bytes16 b) { return hn::Add(a, b); }
HWY_INLINE Bytes16 sub16(Bytes16 a, Bytes16 b) { return hn::Sub(a, b); }
#endif

// The 16 counts of a window.
#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR
class Counts {
 public:
  Counts() : v_(hn::Zero(d_)) {}
  explicit Counts(const std::uint16_t* from) : v_(hn::Load(d_, from)) {}
  HWY_INLINE void add(const std::uint8_t* column) { v_ = hn::Add(v_, hn::PromoteTo(d_, load16(column))); }
  HWY_INLINE void sub(const std::uint8_t* column) { v_ = hn::Sub(v_, hn::PromoteTo(d_, load16(column))); }
  HWY_INLINE void store(std::uint16_t* to) const { hn::Store(v_, d_, to); }
  /// How many of them are at most r.
  HWY_INLINE index_t at_most(std::uint16_t r) const {
    return static_cast<index_t>(hn::CountTrue(d_, hn::Eq(hn::Max(v_, hn::Set(d_, r)), hn::Set(d_, r))));
  }

 private:
  static constexpr hn::FixedTag<std::uint16_t, 16> d_{};
  hn::Vec<hn::FixedTag<std::uint16_t, 16>> v_;
};
#else
class Counts {
 public:
  Counts() : v_{} {}
  explicit Counts(const std::uint16_t* from) { std::copy_n(from, 16, v_.begin()); }
  HWY_INLINE void add(const std::uint8_t* column) {
    for (std::size_t i = 0; i < 16; ++i) v_[i] = static_cast<std::uint16_t>(v_[i] + column[i]);
  }
  HWY_INLINE void sub(const std::uint8_t* column) {
    for (std::size_t i = 0; i < 16; ++i) v_[i] = static_cast<std::uint16_t>(v_[i] - column[i]);
  }
  HWY_INLINE void store(std::uint16_t* to) const { std::copy_n(v_.begin(), 16, to); }
  HWY_INLINE index_t at_most(std::uint16_t r) const {
    std::uint16_t sum = 0;
    for (std::size_t i = 0; i < 16; ++i) sum = static_cast<std::uint16_t>(sum + (v_[i] <= r ? 1 : 0));
    return sum;
  }

 private:
  std::array<std::uint16_t, 16> v_;
};
#endif

HWY_INLINE unsigned key_at(const CountedRow& row, const ByteRule& rule, index_t i) {
  const std::uint8_t byte = row.x[i * row.pitch];
  return rule.boolean ? byte != 0 : byte ^ rule.flip;
}

HWY_INLINE bool is_valid(const CountedRow& row, const ByteRule& rule, index_t i, unsigned key) {
  if (row.mask != nullptr && row.mask[i * row.mask_pitch] == 0) return false;
  return !rule.has_nodata || key != rule.nodata;
}

template <bool kEnters>
HWY_INLINE void count(const ColumnCounts& counts, index_t i, unsigned key) {
  const auto change = [](std::uint8_t* to, unsigned bin) HWY_ATTR {
    const auto step = load16(kBinSteps.of[bin].data());
    store16(kEnters ? add16(load16(to), step) : sub16(load16(to), step), to);
  };
  change(counts.coarse + i * kBins, key / 16);
  change(counts.fine + (static_cast<index_t>(key / 16) * counts.columns + i) * kBins, key % 16);
}

template <bool kEnters>
void count_row(const CountedRow& row, const ByteRule& rule, const ColumnCounts& counts) {
  for (index_t i = 0; i < counts.columns; ++i) {
    const unsigned key = key_at(row, rule, i);
    if (is_valid(row, rule, i, key)) count<kEnters>(counts, i, key);
  }
}

void enter_row(const CountedRow& row, const ByteRule& rule, const ColumnCounts& counts) {
  count_row<true>(row, rule, counts);
}
void leave_row(const CountedRow& row, const ByteRule& rule, const ColumnCounts& counts) {
  count_row<false>(row, rule, counts);
}

void replace_row(const CountedRow& out, const CountedRow& in, const ByteRule& rule, const ColumnCounts& counts) {
  if (out.mask != nullptr || rule.has_nodata) {
    leave_row(out, rule, counts);
    return enter_row(in, rule, counts);
  }
  const index_t pitch = counts.columns * kBins;
  for (index_t i = 0; i < counts.columns; ++i) {
    const unsigned old = key_at(out, rule, i), key = key_at(in, rule, i);
    std::uint8_t* const coarse = counts.coarse + i * kBins;
    std::uint8_t* const fine = counts.fine + i * kBins;
    const auto coarse_less = sub16(load16(coarse), load16(kBinSteps.of[old / 16].data()));
    store16(add16(coarse_less, load16(kBinSteps.of[key / 16].data())), coarse);
    std::uint8_t* const from = fine + static_cast<index_t>(old / 16) * pitch;
    store16(sub16(load16(from), load16(kBinSteps.of[old % 16].data())), from);
    std::uint8_t* const to = fine + static_cast<index_t>(key / 16) * pitch;
    store16(add16(load16(to), load16(kBinSteps.of[key % 16].data())), to);
  }
}

// The fine counts of a coarse bin in some columns, from those of the columns that they were counted in last.
HWY_INLINE Counts move_to(const std::uint8_t* columns, Range window, Range& counted, const std::uint16_t* known) {
  const index_t changes = window.begin - counted.begin + window.end - counted.end;
  Counts sum;
  if (window.begin >= counted.end || changes > window.size()) {
    for (index_t i = window.begin; i < window.end; ++i) sum.add(columns + i * kBins);
  } else {
    sum = Counts(known);
    for (index_t i = counted.begin; i < window.begin; ++i) sum.sub(columns + i * kBins);
    for (index_t i = counted.end; i < window.end; ++i) sum.add(columns + i * kBins);
  }
  counted = window;
  return sum;
}

void find(const CountedWindows& w) {
  alignas(64) std::uint16_t fine[kBins][kBins];
  alignas(64) std::uint16_t coarse[kBins + 1] = {};
  std::array<Range, kBins> counted{};
  Range now{w.windows[0].begin, w.windows[0].begin};
  Counts sum;
  const index_t pitch = w.counts.columns * kBins;
  alignas(64) std::uint16_t cumulated[kBins];
  for (index_t o = 0; o < w.outputs; ++o) {
    const Range window = w.windows[o];
    if (window.begin >= now.end) {
      sum = Counts();
      now = {window.begin, window.begin};
    }
    for (; now.end < window.end; ++now.end) sum.add(w.counts.coarse + now.end * kBins);
    for (; now.begin < window.begin; ++now.begin) sum.sub(w.counts.coarse + now.begin * kBins);
    sum.store(cumulated);
    const std::uint16_t n = cumulated[kBins - 1];
    w.valid[o] = n;
    if (n == 0) continue;
    std::copy_n(cumulated, kBins, coarse + 1);
    for (index_t j = 0; j < w.wanted; ++j) {
      const std::uint16_t rank = w.ranks[j][n];
      const index_t c = sum.at_most(rank);
      const Counts in_bin = move_to(w.counts.fine + c * pitch, window, counted[static_cast<std::size_t>(c)], fine[c]);
      in_bin.store(fine[c]);
      const index_t f = in_bin.at_most(static_cast<std::uint16_t>(rank - coarse[c]));
      w.keys[j][o] = static_cast<std::uint8_t>(c * kBins + f);
    }
  }
}

HistogramKernels kernels() { return {&enter_row, &leave_row, &replace_row, &find}; }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(kernels);
}
const HistogramKernels& histogram_kernels() {
  static const PerTarget<HistogramKernels> tables{
      [](HistogramKernels& table, std::size_t which) { table = HWY_DISPATCH_TABLE(kernels)[which](); }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
