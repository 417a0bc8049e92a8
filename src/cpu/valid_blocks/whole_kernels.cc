// Sums of integers over boxes, per instruction set.
#include "cpu/valid_blocks/whole_kernels.h"

#include "cpu/element/long_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/valid_blocks/whole_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr index_t kFewTaps = 8;  // along a row, which are added one by one

template <int kVectors, class X, class D>
HWY_INLINE void sum_vectors(D d, const ColumnRows& r, index_t i) {
  using A = hn::TFromD<D>;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  hn::Vec<D> sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (index_t a = 0; a < r.count; ++a) {
    const X* x = static_cast<const X*>(r.rows[a]) + r.first + i;
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], AsIs::load(d, x + v * lanes));
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, static_cast<A*>(r.sums) + i + v * lanes);
}

template <class X, class D>
HWY_INLINE void sum_halves(D d, const ColumnRows& r, index_t i) {
  const hn::RebindToUnsigned<D> du;
  const auto mask = hn::Set(du, LongSum::kLow);
  auto high = hn::Zero(d);
  auto low = hn::Zero(du);
  for (index_t a = 0; a < r.count; ++a) {
    const auto v = hn::LoadU(du, static_cast<const std::uint64_t*>(r.rows[a]) + r.first + i);
    low = hn::Add(low, hn::And(v, mask));
    if constexpr (std::is_signed_v<X>)
      high = hn::Add(high, hn::ShiftRight<32>(hn::BitCast(d, v)));
    else
      high = hn::Add(high, hn::BitCast(d, hn::ShiftRight<32>(v)));
  }
  hn::StoreU(low, du, static_cast<std::uint64_t*>(r.sums) + i);
  hn::StoreU(high, d, static_cast<std::int64_t*>(r.high) + i);
}

template <class X, class A>
void sum_columns(const ColumnRows& rows) {
  const ColumnRows r = rows;  // so that what is written is known to be apart from it
  const hn::ScalableTag<A> d;
  const hn::CappedTag<A, 1> one;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  if constexpr (sizeof(X) < 8) {
    for (; i + 4 * lanes <= r.n; i += 4 * lanes) sum_vectors<4, X>(d, r, i);
    for (; i + lanes <= r.n; i += lanes) sum_vectors<1, X>(d, r, i);
    for (; i < r.n; ++i) sum_vectors<1, X>(one, r, i);
  } else {
    for (; i + lanes <= r.n; i += lanes) sum_halves<X>(d, r, i);
    for (; i < r.n; ++i) sum_halves<X>(one, r, i);
  }
}

// What follows are plain loops, of which the compiler makes vectors. Sums may wrap on the way to one that fits.
template <class A, class L>
void sum_pairs(const A* HWY_RESTRICT in, index_t n, L* HWY_RESTRICT out) {
  for (index_t i = 0; i < n; ++i) out[i] = static_cast<L>(static_cast<L>(in[2 * i]) + static_cast<L>(in[2 * i + 1]));
}

template <class A, class L>
void sum_triples(const A* HWY_RESTRICT in, index_t n, L* HWY_RESTRICT out) {
  for (index_t i = 0; i < n; ++i)
    out[i] = static_cast<L>(in[3 * i]) + static_cast<L>(in[3 * i + 1]) + static_cast<L>(in[3 * i + 2]);
}

template <class A, class L>
void sum_each(const A* HWY_RESTRICT in, const AlongSums& r, L* HWY_RESTRICT out) {
  if (r.lanes == 1 && r.kernel == 3 && r.stride == 3 && r.dilation == 1) return sum_triples<A, L>(in, r.outputs, out);
  if (r.stride == 1) {  // all places beside each other are lanes
    const index_t n = r.outputs * r.lanes;
    for (index_t i = 0; i < n; ++i) out[i] = static_cast<L>(in[i]);
    for (index_t t = 1; t < r.kernel; ++t) {
      const A* from = in + t * r.dilation * r.lanes;
      for (index_t i = 0; i < n; ++i) out[i] += static_cast<L>(from[i]);
    }
    return;
  }
  if (r.lanes == 1) {
    for (index_t o = 0; o < r.outputs; ++o) {
      L sum = 0;
      for (index_t t = 0; t < r.kernel; ++t) sum += static_cast<L>(in[o * r.stride + t * r.dilation]);
      out[o] = sum;
    }
    return;
  }
  for (index_t o = 0; o < r.outputs; ++o) {
    L* HWY_RESTRICT to = out + o * r.lanes;
    for (index_t l = 0; l < r.lanes; ++l) to[l] = 0;
    for (index_t t = 0; t < r.kernel; ++t) {
      const A* from = in + (o * r.stride + t * r.dilation) * r.lanes;
      for (index_t l = 0; l < r.lanes; ++l) to[l] += static_cast<L>(from[l]);
    }
  }
}

// Differences of sums of all that comes before.
template <class A, class L>
void sum_long(const A* HWY_RESTRICT in, const AlongSums& r, L* HWY_RESTRICT until, L* HWY_RESTRICT out) {
  const index_t n = ((r.outputs - 1) * r.stride + r.kernel) * r.lanes;
  if (r.lanes == 1) {
    L sum = 0;
    until[0] = 0;
    for (index_t i = 0; i < n; ++i) until[i + 1] = sum += static_cast<L>(in[i]);
  } else {
    for (index_t l = 0; l < r.lanes; ++l) until[l] = 0;
    for (index_t i = 0; i < n; ++i) until[i + r.lanes] = until[i] + static_cast<L>(in[i]);
  }
  if (r.stride == 1) {
    const L* HWY_RESTRICT end = until + r.kernel * r.lanes;
    for (index_t i = 0; i < r.outputs * r.lanes; ++i) out[i] = end[i] - until[i];
    return;
  }
  for (index_t o = 0; o < r.outputs; ++o) {
    const L* HWY_RESTRICT from = until + o * r.stride * r.lanes;
    for (index_t l = 0; l < r.lanes; ++l) out[o * r.lanes + l] = from[r.kernel * r.lanes + l] - from[l];
  }
}

template <class A, class L>
void sum_rest(const A* in, const AlongSums& r, L* room, L* out) {
  if (r.kernel > kFewTaps && r.dilation == 1 && r.stride <= 2 * r.kernel)
    sum_long<A, L>(in, r, room, out);
  else
    sum_each<A, L>(in, r, out);
}

template <class A, class L>
void sum_along(const AlongSums& row) {
  AlongSums r = row;
  const A* in = static_cast<const A*>(r.sums);
  L *room = static_cast<L*>(r.room), *out = static_cast<L*>(r.out);
  const auto halves = [&r] { return r.kernel % 2 == 0 && r.stride % 2 == 0 && r.dilation == 1 && r.lanes == 1; };
  if (!halves()) return sum_rest<A, L>(in, r, room, out);
  const auto halve = [&] {
    r.kernel /= 2;
    r.stride /= 2;
    return (r.outputs - 1) * r.stride + r.kernel;
  };
  const index_t first = halve();
  const bool done = r.kernel == 1 && r.stride == 1;
  sum_pairs<A, L>(in, first, done ? out : room);
  if (done) return;
  const L* sums = room;
  L *to = room + first, *free = room;
  while (halves()) {
    const index_t n = halve();
    if (r.kernel == 1 && r.stride == 1) return sum_pairs<L, L>(sums, n, out);
    sum_pairs<L, L>(sums, n, to);
    sums = to;
    std::swap(to, free);
  }
  sum_rest<L, L>(sums, r, to, out);
}

template <class R>
void finish_long(const LongRow& row) {
  const auto* HWY_RESTRICT high = static_cast<const std::int64_t*>(row.high);
  const auto* HWY_RESTRICT low = static_cast<const std::uint64_t*>(row.low);
  R* HWY_RESTRICT y = static_cast<R*>(row.y);
  if (row.divisor == 0 || (row.divisor & (row.divisor - 1)) == 0) {  // then the quotient is exact
    const R scale = R{1} / static_cast<R>(row.divisor == 0 ? 1 : row.divisor);
    for (index_t i = 0; i < row.n; ++i) y[i] = rounded<R>(LongSum{high[i], low[i]}) * scale;
    return;
  }
  if (std::is_same_v<R, double> && static_cast<double>(row.divisor) < kShortDivisors) {
    const auto divisor = static_cast<double>(row.divisor);
    for (index_t i = 0; i < row.n; ++i) y[i] = static_cast<R>(short_ratio(LongSum{high[i], low[i]}, divisor));
    return;
  }
  for (index_t i = 0; i < row.n; ++i) y[i] = rounded_ratio<R>(LongSum{high[i], low[i]}, row.divisor);
}

SumColumns columns_of(Dtype x, ColumnLane lane) {
  switch (x) {
    case Dtype::boolean:
      return lane == ColumnLane::u16 ? &sum_columns<bool8, std::uint16_t> : &sum_columns<bool8, std::int32_t>;
    case Dtype::u8:
      return lane == ColumnLane::u16 ? &sum_columns<std::uint8_t, std::uint16_t>
                                     : &sum_columns<std::uint8_t, std::int32_t>;
    case Dtype::i8:
      return lane == ColumnLane::i16 ? &sum_columns<std::int8_t, std::int16_t>
                                     : &sum_columns<std::int8_t, std::int32_t>;
    case Dtype::u16:
      return &sum_columns<std::uint16_t, std::int32_t>;
    case Dtype::i16:
      return &sum_columns<std::int16_t, std::int32_t>;
    case Dtype::u32:
      return &sum_columns<std::uint32_t, std::int64_t>;
    case Dtype::i32:
      return &sum_columns<std::int32_t, std::int64_t>;
    case Dtype::u64:
      return &sum_columns<std::uint64_t, std::int64_t>;
    default:
      return &sum_columns<std::int64_t, std::int64_t>;
  }
}

// Unsigned accumulators, which may wrap.
SumAlong along_of(ColumnLane column, TapLane lane) {
  const bool narrow = lane == TapLane::i32;
  switch (column) {
    case ColumnLane::u16:
      return narrow ? &sum_along<std::uint16_t, std::uint32_t> : &sum_along<std::uint16_t, std::uint64_t>;
    case ColumnLane::i16:
      return narrow ? &sum_along<std::int16_t, std::uint32_t> : &sum_along<std::int16_t, std::uint64_t>;
    case ColumnLane::i32:
      return narrow ? &sum_along<std::int32_t, std::uint32_t> : &sum_along<std::int32_t, std::uint64_t>;
    default:
      return &sum_along<std::int64_t, std::uint64_t>;
  }
}

WholeKernels wholes(Dtype x, ColumnLane column, TapLane lane, Dtype result) {
  return {columns_of(x, column), along_of(column, lane),
          result == Dtype::f64 ? &finish_long<double> : &finish_long<float>};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(wholes);
using WholesOf = WholeKernels (*)(Dtype x, ColumnLane column, TapLane lane, Dtype result);
}  // namespace

WholeKernels whole_kernels(Dtype x, ColumnLane column, TapLane lane, Dtype result) {
  static const PerTarget<WholesOf> all{
      [](WholesOf& one, std::size_t which) { one = HWY_DISPATCH_TABLE(wholes)[which]; }};
  return all.active()(x, column, lane, result);
}
}  // namespace oriel::cpu
#endif
