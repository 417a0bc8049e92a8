// Sums over long windows, per instruction set, in the tree of S8. Each row is added once to the sums of 1, 2, 4, … taps
// that end before it; a window is its powers of two, taken from where they were kept.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sliding/doubling.cc"
#include <bit>

#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/fold-inl.h"
#include "cpu/sliding/halving-inl.h"
#include "cpu/sliding/sliding_kernels.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// The rows of one strip: where this row's sums of 2^l taps go, where those that they are added to lie, and the parts of
// the window that ends here. kLevels = 0: any number of levels.
template <class T, int kLevels>
struct SumStep {
  static constexpr int kMost = 1 + (kLevels > 0 ? kLevels : kMostSumLevels);
  T* now[kMost];
  const T* before[kMost];
  const T* part[kMost];
  int parts;  // without a single tap, which is this row
};

template <class T, int kLevels>
class SumRings {
 public:
  explicit SumRings(index_t kernel) : kernel_(kernel) {
    if constexpr (kLevels == 0) levels_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(kernel))) - 1;
    for (int l = 1; l <= levels_; ++l) {
      first_[l] = slots_;
      mask_[l] = kept_sums(kernel, l) - 1;
      slots_ += mask_[l] + 1;
    }
  }
  index_t slots() const { return slots_; }
  int levels() const { return levels_; }

  SumStep<T, kLevels> step(T* ring, index_t clock, index_t strip) const {
    SumStep<T, kLevels> s;
    const auto slot = [&](int l, index_t age) { return ring + (first_[l] + ((clock - age) & mask_[l])) * strip; };
    for (int l = 1; l <= levels_; ++l) {
      s.now[l] = slot(l, 0);
      s.before[l] = l < levels_ ? slot(l, index_t{1} << l) : nullptr;
    }
    s.parts = 0;
    for (int l = levels_; l >= 1; --l) {
      const index_t taps = index_t{1} << l;
      if ((kernel_ & taps) != 0) s.part[s.parts++] = slot(l, kernel_ & (taps - 1));
    }
    return s;
  }

 private:
  index_t kernel_;
  int levels_ = kLevels;
  index_t slots_ = 0;
  index_t first_[SumStep<T, kLevels>::kMost] = {};
  index_t mask_[SumStep<T, kLevels>::kMost] = {};
};

// Of windows of at most 255 taps GCC may repeat the loop over parts: 31x31 takes a fifth longer without.
constexpr int kUnrolledLevels = ORIEL_AVX2 ? 7 : 0;

// kVectors vectors of one row of a strip, from element i on, which are element k of the strip's sums.
template <int kVectors, class T, int kLevels, class D>
HWY_INLINE void sum_vectors(D d, const SumStep<T, kLevels>& s, int levels, const T* x, const T* x_before, index_t i,
                            index_t k, bool odd, T* out) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  hn::Vec<D> tap[kVectors], sum[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    tap[v] = hn::LoadU(d, x + i + v * lanes);
    sum[v] = hn::Add(hn::LoadU(d, x_before + i + v * lanes), tap[v]);
  }
  for (int l = 1; l < levels; ++l) {
    T* now = s.now[l] + k;
    const T* before = s.before[l] + k;
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[v], d, now + v * lanes);
      sum[v] = hn::Add(hn::LoadU(d, before + v * lanes), sum[v]);
    }
  }
  T* now = s.now[levels] + k;
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, now + v * lanes);
  if (out == nullptr) return;
  const T* part = s.part[0] + k;
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::LoadU(d, part + v * lanes);
  const auto add_part = [&](int p) HWY_ATTR {
    const T* more = s.part[p] + k;
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, more + v * lanes));
  };
  if constexpr (kLevels > 0 && kLevels <= kUnrolledLevels) {
    for (int p = 1; p < s.parts; ++p) add_part(p);
  } else {
#pragma GCC unroll 1  // GCC repeats it as often as there may be levels
    for (int p = 1; p < s.parts; ++p) add_part(p);
  }
  if (odd) {
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], tap[v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, out + i + v * lanes);
}

// Rows are read a strip at a time, which the hardware does not foresee.
constexpr index_t kStripsAhead = 2;

template <class T, int kLevels, class D>
HWY_INLINE void sum_rows_by(D d, const LongRows& b) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d)), strip = kSumStripVectors * lanes;
  const SumRings<T, kLevels> rings(b.kernel);
  const index_t count = b.windows + b.kernel - 1, last = b.n - lanes;
  const int levels = kLevels > 0 ? kLevels : rings.levels();
  const bool odd = b.kernel % 2 == 1;
  T* ring = static_cast<T*>(b.scratch);
  for (index_t from = 0; from < b.n; from += strip, ring += rings.slots() * strip) {
    for (index_t r = b.ready; r < count; ++r) {
      const index_t window = r - (b.kernel - 1);
      T* out = window >= 0 ? static_cast<T*>(b.out[window]) : nullptr;
      const T* x = static_cast<const T*>(b.rows[r]);
      const T* x_before = static_cast<const T*>(b.rows[r > 0 ? r - 1 : 0]);
      const auto step = rings.step(ring, b.clock + r, strip);
      if ((kLevels > 0 || !kHasVectors<T>)&&from + strip <= b.n) {  // else rows are shorter
        const char* ahead = reinterpret_cast<const char*>(x + from + kStripsAhead * strip);
        for (index_t a = 0; a < strip * static_cast<index_t>(sizeof(T)); a += 64) __builtin_prefetch(ahead + a, 0, 2);
        sum_vectors<kSumStripVectors>(d, step, levels, x, x_before, from, 0, odd, out);
        continue;
      }
      for (index_t k = 0; from + k < b.n; k += lanes) {  // the last vector overlaps the one before, in x and out
        sum_vectors<1>(d, step, levels, x, x_before, from + k < last ? from + k : last, k, odd, out);
      }
    }
  }
}

template <class T, int kLevels = 1>
void pick_sum_rows(const LongRows& b) {
  if constexpr (kLevels <= kMostSumLevels) {
    if (b.kernel < (index_t{2} << kLevels)) return sum_rows_by<T, kLevels>(hn::ScalableTag<T>(), b);
    pick_sum_rows<T, kLevels + 1>(b);
  }
}

// Rows shorter than the longest vectors have one code for all windows.
template <class T>
void sum_rows(const LongRows& b) {
  if constexpr (kHasVectors<T>) {
    if (b.n >= static_cast<index_t>(hn::Lanes(hn::ScalableTag<T>()))) return pick_sum_rows<T>(b);
  }
  if constexpr (kHasShortVectors<T>) {
    const ShortTag<T> few;
    if (b.n >= static_cast<index_t>(hn::Lanes(few))) return sum_rows_by<T, 0>(few, b);
  }
  sum_rows_by<T, 0>(hn::CappedTag<T, 1>(), b);
}

template <class T>
bool sum_block(const LongRows& b) {
  if (b.kernel == 1)
    copy_rows<T>(b, [](auto, auto) HWY_ATTR {});
  else
    sum_rows<T>(b);
  return false;
}

// The parts of the windows of a segment, largest first.
template <class T>
struct SumParts {
  const T* part[64];
  int count = 0;
};

// kVectors vectors of outputs from element i of a segment on, divided where kDivided.
template <int kVectors, bool kDivided, class D, class T = hn::TFromD<D>>
HWY_INLINE void join_vectors(D d, const SumParts<T>& parts, index_t i, T divisor, T* HWY_RESTRICT out) {
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  hn::Vec<D> sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::LoadU(d, parts.part[0] + i + v * lanes);
  for (int p = 1; p < parts.count; ++p) {
    const T* more = parts.part[p] + i;
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, more + v * lanes));
  }
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kDivided) sum[v] = hn::Div(sum[v], hn::Set(d, divisor));
    hn::StoreU(sum[v], d, out + i + v * lanes);
  }
}

// The n outputs from element `begin` of a segment on.
template <bool kDivided, class T>
HWY_INLINE void join_parts(const SumParts<T>& parts, index_t begin, index_t n, T divisor, T* HWY_RESTRICT out) {
  const auto join = [&](auto d, index_t at) HWY_ATTR { join_vectors<1, kDivided>(d, parts, begin + at, divisor, out); };
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  if (n < lanes) return cover<T>(n, join);
  index_t at = 0;
  for (; at + 2 * lanes <= n; at += 2 * lanes) join_vectors<2, kDivided>(d, parts, begin + at, divisor, out);
  for (; at + lanes <= n; at += lanes) join(d, at);
  if (at < n) join(d, n - lanes);
}

template <class T>
SumParts<T> double_sums(const LongRow& s, const T* row, index_t n, index_t kept_row) {
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  const T* level[64];
  int levels = 0;
  level[0] = row;
  T* next = static_cast<T*>(s.scratch);
  for (index_t m = 1; 2 * m <= s.kernel; m *= 2, ++levels) {
    const T* from = level[levels];
    const bool in_place = m > 1 && (s.kernel & m) == 0;
    T* to = in_place ? next - kept_row : next;
    const index_t length = n + (s.kernel - 2 * m) * s.move, move = m * s.move;
    // By two vectors: a loop over one takes 1.3 times as long if its code happens to lie across a line of the cache.
    for (index_t i = 0; i < length; i += 2 * lanes) {
      for (index_t k = i; k < i + 2 * lanes; k += lanes) {
        hn::StoreU(hn::Add(hn::LoadU(d, from + k), hn::LoadU(d, from + k + move)), d, to + k);
      }
    }
    level[levels + 1] = to;
    if (!in_place) next += kept_row;
  }
  SumParts<T> parts;
  index_t taps = 0;
  for (int l = levels; l >= 0; --l) {
    if ((s.kernel >> l & 1) == 0) continue;
    parts.part[parts.count++] = level[l] + taps * s.move;
    taps += index_t{1} << l;
  }
  return parts;
}

// A segment of the row at a time, so that the sums of all sizes stay in the first cache.
template <class T>
void slide_sum(const LongRow& s) {
  constexpr index_t kBytes = static_cast<index_t>(sizeof(T));
  const index_t segment = slide_segment(s.kernel, s.move, kBytes);
  const index_t kept_row = slide_row_bytes(s.kernel, segment, s.move, kBytes) / kBytes;
  const LongQuotient* q = s.quotients;
  for (index_t begin = 0; begin < s.n; begin += segment) {
    const index_t n = s.n - begin < segment ? s.n - begin : segment;
    T* out = static_cast<T*>(s.out) + begin;
    const SumParts<T> parts = double_sums(s, static_cast<const T*>(s.row) + begin, n, kept_row);
    if (s.quotient_count == 0) {
      join_parts<false>(parts, 0, n, T{}, out);
      continue;
    }
    if constexpr (std::is_floating_point_v<T>) {
      for (index_t i = 0; i < n;) {
        while (q->end <= begin + i) ++q;
        const index_t end = q->end - begin < n ? q->end - begin : n;
        join_parts<true>(parts, i, end - i, static_cast<T>(q->divisor), out);
        i = end;
      }
    }
  }
}

template <class T>
void sum_along(const LongRow& s) {
  if (s.step == 1) return slide_sum<T>(s);
  fold_steps<Sum, T>(s, [](const LongRow& row) HWY_ATTR { slide_sum<T>(row); });
}

LongKernels long_sum(Lane lane) {
  switch (lane) {
    case Lane::i32:
      return {&sum_block<std::int32_t>, &sum_along<std::int32_t>};
    case Lane::f32:
      return {&sum_block<float>, &sum_along<float>};
    case Lane::f64:
      return {&sum_block<double>, &sum_along<double>};
    default:
      return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(long_sum);
}
void fill_long_sum(SlidingTable& table, std::size_t which) { table.sum = HWY_DISPATCH_TABLE(long_sum)[which]; }
}  // namespace oriel::cpu
#endif
