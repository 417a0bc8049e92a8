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
namespace {  // other files have such names, too

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

// Moves counts of the columns `now` to those of `window`; both ends ascend.
HWY_INLINE void move_to(const std::uint8_t* columns, Range window, Range& now, Counts& sum) {
  if (window.begin == now.begin + 1 && window.end == now.end + 1 && window.begin < now.end) {
    sum.add(columns + now.end * kBins);
    sum.sub(columns + now.begin * kBins);
    now = window;
    return;
  }
  if (window.begin >= now.end || window.begin - now.begin + window.end - now.end > window.size()) {
    sum = Counts();
    now = {window.begin, window.begin};
  }
  for (; now.end < window.end; ++now.end) sum.add(columns + now.end * kBins);
  for (; now.begin < window.begin; ++now.begin) sum.sub(columns + now.begin * kBins);
}

// The coarse bin of every output's wanted key, and its rank within.
void find_bins(const CountedWindows& w, const std::uint16_t* HWY_RESTRICT ranks) {
  alignas(64) std::uint16_t coarse[2 * kBins] = {};  // a zero before the counts
  const std::uint8_t* HWY_RESTRICT columns = w.counts.coarse;
  const Range* HWY_RESTRICT windows = w.windows;
  std::uint16_t *HWY_RESTRICT valid = w.valid, *HWY_RESTRICT rests = w.rests;
  std::uint8_t* HWY_RESTRICT bins = w.bins;
  Range now;
  Counts sum;
  for (index_t o = 0, outputs = w.outputs; o < outputs; ++o) {
    move_to(columns, windows[o], now, sum);
    sum.store(coarse + kBins);
    const std::uint16_t n = coarse[2 * kBins - 1], rank = ranks[n];
    const index_t bin = n == 0 ? 0 : sum.at_most(rank);
    valid[o] = n;
    bins[o] = static_cast<std::uint8_t>(bin);
    rests[o] = static_cast<std::uint16_t>(rank - coarse[kBins - 1 + bin]);
  }
}

// The keys of those of the outputs that are in a bin. The others are gone through as well, and without a branch: which
// ones they are cannot be foretold.
void find_keys(const CountedWindows& w, index_t bin, Range outputs, std::uint8_t* HWY_RESTRICT keys) {
  const std::uint8_t* HWY_RESTRICT columns = w.counts.fine + bin * w.counts.columns * kBins;
  const Range* HWY_RESTRICT windows = w.windows;
  const std::uint16_t* HWY_RESTRICT rests = w.rests;
  const std::uint8_t* HWY_RESTRICT bins = w.bins;
  Range now;
  Counts sum;
  for (index_t o = outputs.begin; o < outputs.end; ++o) {
    move_to(columns, windows[o], now, sum);
    const auto key = static_cast<unsigned>(bin * kBins + sum.at_most(rests[o]));
    const unsigned own = ((bins[o] ^ static_cast<unsigned>(bin)) - 1U) >> 8;  // all bits, or none
    keys[o] = static_cast<std::uint8_t>(keys[o] ^ ((keys[o] ^ key) & own));
  }
}

void find(const CountedWindows& w) {
  constexpr index_t kGap = 12;  // to go through as many outputs of other bins takes less than to begin again
  for (index_t j = 0; j < w.wanted; ++j) {
    find_bins(w, w.ranks[j]);
    std::array<Range, kBins> runs{};
    for (index_t o = 0; o < w.outputs; ++o) {
      Range& run = runs[w.bins[o]];
      if (o - run.end > kGap) {
        find_keys(w, w.bins[o], run, w.keys[j]);
        run.begin = o;
      }
      run.end = o + 1;
    }
    for (index_t bin = 0; bin < kBins; ++bin) find_keys(w, bin, runs[static_cast<std::size_t>(bin)], w.keys[j]);
  }
}

}  // namespace

HistogramKernels histogram_kernels_of() { return {&enter_row, &leave_row, &replace_row, &find}; }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(histogram_kernels_of);
}
const HistogramKernels& histogram_kernels() {
  static const PerTarget<HistogramKernels> tables{
      [](HistogramKernels& table, std::size_t which) { table = HWY_DISPATCH_TABLE(histogram_kernels_of)[which](); }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
