#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/histogram/histogram_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/histogram/histogram_kernels.h"
#include "hwy/highway.h"
#include "instruction_set.h"

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
    const auto most = hn::Set(d_, r);
#if ORIEL_AVX512
    return 16 - static_cast<index_t>(hn::CountTrue(d_, hn::Gt(v_, most)));
#else
    return static_cast<index_t>(hn::CountTrue(d_, hn::Eq(hn::Max(v_, most), most)));
#endif
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

// kDense: bytes beside each other that are their own keys but for `flip`.
template <bool kDense>
void replace_all(const CountedRow& out, const CountedRow& in, const ByteRule& rule, const ColumnCounts& counts) {
  const index_t columns = counts.columns, pitch = columns * kBins;
  const ByteRule read = rule;  // so that what is written is known to be apart from all this
  const CountedRow less = out, more = in;
  std::uint8_t *coarse = counts.coarse, *fine = counts.fine;
  for (index_t i = 0; i < columns; ++i, coarse += kBins, fine += kBins) {
    const unsigned old = kDense ? less.x[i] ^ read.flip : key_at(less, read, i);
    const unsigned key = kDense ? more.x[i] ^ read.flip : key_at(more, read, i);
    const auto coarse_less = sub16(load16(coarse), load16(kBinSteps.of[old / 16].data()));
    store16(add16(coarse_less, load16(kBinSteps.of[key / 16].data())), coarse);
    std::uint8_t* const from = fine + static_cast<index_t>(old / 16) * pitch;
    store16(sub16(load16(from), load16(kBinSteps.of[old % 16].data())), from);
    std::uint8_t* const to = fine + static_cast<index_t>(key / 16) * pitch;
    store16(add16(load16(to), load16(kBinSteps.of[key % 16].data())), to);
  }
}

void replace_row(const CountedRow& out, const CountedRow& in, const ByteRule& rule, const ColumnCounts& counts) {
  if (out.mask != nullptr || rule.has_nodata) {
    leave_row(out, rule, counts);
    return enter_row(in, rule, counts);
  }
  const bool dense = out.pitch == 1 && in.pitch == 1 && !rule.boolean;
  dense ? replace_all<true>(out, in, rule, counts) : replace_all<false>(out, in, rule, counts);
}

// Moves counts of the columns `now` to those of `window`; both ends ascend.
HWY_INLINE void move_to(const std::uint8_t* columns, Range window, Range& now, Counts& sum) {
  if (window.begin >= now.end || window.begin - now.begin + window.end - now.end > window.size()) {
    sum = Counts();
    now = {window.begin, window.begin};
  }
  for (; now.end < window.end; ++now.end) sum.add(columns + now.end * kBins);
  for (; now.begin < window.begin; ++now.begin) sum.sub(columns + now.begin * kBins);
}

// Calls at(o, sum, slides) with the counts of the window of each output, and whether it slides.
template <class At>
HWY_INLINE void each_window(const CountedWindows& w, const std::uint8_t* columns, Range outputs, const At& at) {
  const Range* const windows = w.windows;
  const Range sliding = w.sliding;
  Range now;
  Counts sum;
  for (index_t o = outputs.begin; o < outputs.end; ++o) {
    if (o > outputs.begin && sliding.contains(o)) {
      const index_t end = std::min(outputs.end, sliding.end);
      const std::uint8_t *in = columns + now.end * kBins, *out = columns + now.begin * kBins;
      now = windows[end - 1];
      for (;; ++o, in += kBins, out += kBins) {
        sum.add(in);
        sum.sub(out);
        at(o, sum, true);
        if (o == end - 1) break;
      }
      continue;
    }
    move_to(columns, windows[o], now, sum);
    at(o, sum, false);
  }
}

// The coarse bin of every output's wanted key, and its rank within.
void find_bins(const CountedWindows& w, const std::uint16_t* HWY_RESTRICT ranks) {
  alignas(64) std::uint16_t coarse[2 * kBins] = {};  // a zero before the counts
  std::uint16_t *HWY_RESTRICT valid = w.valid, *HWY_RESTRICT rests = w.rests;
  std::uint8_t* HWY_RESTRICT bins = w.bins;
  const bool whole = w.whole;
  std::uint16_t n = 0, rank = 0;
  each_window(w, w.counts.coarse, {0, w.outputs}, [&](index_t o, const Counts& sum, bool slides) HWY_ATTR {
    sum.store(coarse + kBins);
    if (!slides || !whole) {
      n = coarse[2 * kBins - 1];
      rank = ranks[n];
    }
    const index_t bin = n == 0 ? 0 : sum.at_most(rank);
    valid[o] = n;
    bins[o] = static_cast<std::uint8_t>(bin);
    rests[o] = static_cast<std::uint16_t>(rank - coarse[kBins - 1 + bin]);
  });
}

// The keys of those of the outputs that are in a bin. The others are gone through as well, and without a branch: which
// ones they are cannot be foretold.
void find_keys(const CountedWindows& w, index_t bin, Range outputs, std::uint8_t* HWY_RESTRICT keys) {
  const std::uint16_t* HWY_RESTRICT rests = w.rests;
  const std::uint8_t* HWY_RESTRICT bins = w.bins;
  const auto own = static_cast<unsigned>(bin);
  each_window(w, w.counts.fine + bin * w.counts.columns * kBins, outputs,
              [&](index_t o, const Counts& sum, bool) HWY_ATTR {
                const auto key = static_cast<unsigned>(bin * kBins + sum.at_most(rests[o]));
                const unsigned use = ((bins[o] ^ own) - 1U) >> 8;  // all bits, or none
                keys[o] = static_cast<std::uint8_t>(keys[o] ^ ((keys[o] ^ key) & use));
              });
}

// The bins that some outputs have, a bit for each.
HWY_INLINE unsigned bins_of(const std::uint8_t* HWY_RESTRICT bins, Range outputs) {
  unsigned found = 0;
  for (index_t o = outputs.begin; o < outputs.end; ++o) found |= 1U << bins[o];
  return found;
}

// Bins alternate in a way that cannot be foretold, so that outputs are looked at in blocks.
void find(const CountedWindows& w) {
  constexpr index_t kBlock = 16;
  for (index_t j = 0; j < w.wanted; ++j) {
    find_bins(w, w.ranks[j]);
    std::array<Range, kBins> runs{};
    for (index_t begin = 0; begin < w.outputs; begin += kBlock) {
      const Range block{begin, std::min(begin + kBlock, w.outputs)};
      const unsigned found = bins_of(w.bins, block);
      for (unsigned rest = found; rest != 0; rest &= rest - 1) {
        const auto bin = static_cast<index_t>(std::countr_zero(rest));
        Range& run = runs[static_cast<std::size_t>(bin)];
        if (run.end < block.begin) {  // to go through a block of other bins takes longer than to begin again
          find_keys(w, bin, run, w.keys[j]);
          run.begin = block.begin;
        }
        run.end = block.end;
      }
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
