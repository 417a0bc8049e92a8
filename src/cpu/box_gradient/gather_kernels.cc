// Backward of extrema: every input looks at the outputs that may have chosen it, in ascending order (S9).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/box_gradient/gather_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)

#include "cpu/argmax/argmax_kernels.h"
#include "cpu/box_gradient/gather_kernels.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class A>
using CodeOf = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;

// The sum of kCount terms of a vector from element i on. Adding +0 where a code differs changes nothing: sums begin
// with +0.
template <int kCount, class D, class DI>
HWY_INLINE hn::Vec<D> sum_terms(D d, DI di, const hn::TFromD<DI>* const* code, const hn::TFromD<D>* const* dy,
                                const hn::Vec<DI>* value, index_t i) {
  hn::Vec<D> sum = hn::Zero(d);
  for (int t = 0; t < kCount; ++t) {
    const auto chosen = hn::RebindMask(d, hn::Eq(hn::LoadU(di, code[t] + i), value[t]));
    sum = hn::Add(sum, hn::IfThenElseZero(chosen, hn::LoadU(d, dy[t] + i)));
  }
  return sum;
}

// Elements [0, n) of kCount terms, in vectors that may reach beyond n where `slack`; then n may be less than one.
template <class A, int kCount>
HWY_INLINE void sum_row_of(const PlaceTerm* terms, index_t begin, index_t n, bool slack, A* HWY_RESTRICT out) {
  const hn::ScalableTag<A> d;
  const hn::RebindToSigned<decltype(d)> di;
  using Code = hn::TFromD<decltype(di)>;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  const Code* code[kCount];
  const A* dy[kCount];
  hn::Vec<decltype(di)> value[kCount];
  for (int t = 0; t < kCount; ++t) {
    code[t] = static_cast<const Code*>(terms[t].code) + begin;
    dy[t] = static_cast<const A*>(terms[t].dy) + begin;
    value[t] = hn::Set(di, static_cast<Code>(terms[t].value));
  }
  index_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {  // two chains of additions
    const auto first = sum_terms<kCount>(d, di, code, dy, value, i);
    const auto second = sum_terms<kCount>(d, di, code, dy, value, i + step);
    hn::StoreU(first, d, out + i);
    hn::StoreU(second, d, out + i + step);
  }
  for (; i + step <= n; i += step) hn::StoreU(sum_terms<kCount>(d, di, code, dy, value, i), d, out + i);
  if (i == n) return;
  if (!slack) i = n - step;
  hn::StoreU(sum_terms<kCount>(d, di, code, dy, value, i), d, out + i);
}

// The same for any count: eight terms, then each other one added.
template <class A>
void sum_many(const PlaceTerm* terms, int count, index_t begin, index_t n, bool slack, A* HWY_RESTRICT out) {
  const hn::ScalableTag<A> d;
  const hn::RebindToSigned<decltype(d)> di;
  using Code = hn::TFromD<decltype(di)>;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < n; i += step) {
    if (!slack) i = HWY_MIN(i, n - step);
    hn::Vec<decltype(d)> sum = hn::Zero(d);
    for (int t = 0; t < count; ++t) {
      const auto value = hn::Set(di, static_cast<Code>(terms[t].value));
      const auto chosen =
          hn::RebindMask(d, hn::Eq(hn::LoadU(di, static_cast<const Code*>(terms[t].code) + begin + i), value));
      sum = hn::Add(sum, hn::IfThenElseZero(chosen, hn::LoadU(d, static_cast<const A*>(terms[t].dy) + begin + i)));
    }
    hn::StoreU(sum, d, out + i);
  }
}

template <class A>
HWY_INLINE void sum_row(PlaceTerms row, index_t begin, index_t n, bool slack, A* out) {
  switch (row.count) {
    case 1:
      return sum_row_of<A, 1>(row.terms, begin, n, slack, out);
    case 2:
      return sum_row_of<A, 2>(row.terms, begin, n, slack, out);
    case 3:
      return sum_row_of<A, 3>(row.terms, begin, n, slack, out);
    case 4:
      return sum_row_of<A, 4>(row.terms, begin, n, slack, out);
    case 6:
      return sum_row_of<A, 6>(row.terms, begin, n, slack, out);
    case 9:
      return sum_row_of<A, 9>(row.terms, begin, n, slack, out);
    default:
      return sum_many<A>(row.terms, row.count, begin, n, slack, out);
  }
}

// Rows of phases into one: element i from row i % kStep. False when they make no vector.
template <class A, int kStep>
HWY_INLINE bool join_phases(const A* const* rows, index_t n, A* out) {
  const hn::ScalableTag<A> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d)), groups = n / kStep;
  if constexpr (hn::MaxLanes(d) == 1) return false;
  if (groups < step) return false;
  for (index_t m = 0; m < groups; m += step) {
    m = HWY_MIN(m, groups - step);
    hn::Vec<decltype(d)> v[4];
    for (int k = 0; k < kStep; ++k) v[k] = hn::LoadU(d, rows[k] + m);
    if constexpr (kStep == 2) hn::StoreInterleaved2(v[0], v[1], d, out + 2 * m);
    if constexpr (kStep == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, out + 3 * m);
    if constexpr (kStep == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, out + 4 * m);
  }
  for (index_t i = groups * kStep; i < n; ++i) out[i] = rows[i - groups * kStep][groups];
  return true;
}

// So many outputs at a time that sums stay in the first cache.
constexpr index_t kPhaseElems = 512;

template <class A>
HWY_INLINE void sum_phases(const PlaceTerms* phases, int step, index_t begin, index_t n, A* out) {
  const hn::ScalableTag<A> d;
  if (step == 1 && n >= static_cast<index_t>(hn::Lanes(d))) return sum_row(phases[0], begin, n, false, out);
  HWY_ALIGN A sums[4][kPhaseElems + hn::MaxLanes(d)];
  const A* rows[4] = {sums[0], sums[1], sums[2], sums[3]};
  for (int k = 0; k < HWY_MIN(step, n); ++k) sum_row(phases[k], begin, (n - k + step - 1) / step, true, sums[k]);
  const bool done = step == 2   ? join_phases<A, 2>(rows, n, out)
                    : step == 3 ? join_phases<A, 3>(rows, n, out)
                    : step == 4 ? join_phases<A, 4>(rows, n, out)
                                : false;
  for (index_t i = 0; !done && i < n; ++i) out[i] = rows[i % step][i / step];
}

template <class A>
void flat(const PlaceTerms* phases, int step, index_t n, bool stream, void* out) {
  const hn::ScalableTag<A> d;
  A* to = static_cast<A*>(out);
  stream = stream && n * static_cast<index_t>(sizeof(A)) % 64 == 0 && reinterpret_cast<std::uintptr_t>(out) % 64 == 0;
  HWY_ALIGN A lines[4 * kPhaseElems];
  for (index_t begin = 0; begin * step < n; begin += kPhaseElems) {
    const index_t rest = HWY_MIN(n - begin * step, kPhaseElems * step);
    A* from = to + begin * step;
    sum_phases(phases, step, begin, rest, stream ? lines : from);
    const index_t lanes = static_cast<index_t>(hn::Lanes(d));
    for (index_t i = 0; stream && i < rest; i += lanes) hn::Stream(hn::Load(d, lines + i), d, from + i);
  }
}

template <class A>
void positions(PlaceTerms terms, index_t count, index_t n, index_t pitch, void* out) {
  for (index_t p = 0; p < count; ++p) sum_row(terms, p * n, n, false, static_cast<A*>(out) + p * pitch);
}

template <class From, class Code>
HWY_INLINE void widen_from(const void* code, index_t n, void* out) {
  const From* HWY_RESTRICT from = static_cast<const From*>(code);
  Code* HWY_RESTRICT to = static_cast<Code*>(out);
  for (index_t i = 0; i < n; ++i) to[i] = static_cast<Code>(from[i]);
}

template <class Code>
void widen(const void* code, index_t bytes, index_t n, void* out) {
  switch (bytes) {
    case 1:
      return widen_from<std::uint8_t, Code>(code, n, out);
    case 2:
      return widen_from<std::uint16_t, Code>(code, n, out);
    case 4:
      return widen_from<std::uint32_t, Code>(code, n, out);
    default:
      return widen_from<std::uint64_t, Code>(code, n, out);
  }
}

// False where all indices fit.
HWY_INLINE bool narrow(const std::int64_t* HWY_RESTRICT index, const std::int32_t* HWY_RESTRICT base, index_t n,
                       std::int64_t origin, std::int32_t* HWY_RESTRICT out) {
  std::int32_t bad = 0;
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t rest = static_cast<std::uint64_t>(index[i]) - static_cast<std::uint64_t>(origin + base[i]);
    const std::int32_t none = index[i] == -1 ? -1 : 0;
    const std::int32_t outside = (rest >> 31) != 0 ? -1 : 0;
    out[i] = static_cast<std::int32_t>(rest) | none | outside;  // either way -1
    bad |= outside & ~none;
  }
  return bad != 0;
}

// Whether every code of the vector is -1 or lies in a row and a column that its window has.
template <class D>
HWY_INLINE hn::Mask<D> is_place(D d, hn::Vec<D> code, hn::Vec<D> low, hn::Vec<D> high, std::int32_t step,
                                index_t columns, const std::int32_t* rows, int row_count) {
  auto good = hn::Eq(code, hn::Set(d, std::int32_t{-1}));
  for (int r = 0; r < row_count; ++r) {
    const auto column = hn::Sub(code, hn::Set(d, rows[r]));
    auto inside = hn::AndNot(hn::Lt(column, low), hn::Not(hn::Gt(column, high)));
    if (step != 1) {
      auto stands = hn::Eq(column, hn::Zero(d));
      for (index_t t = 1; t < columns; ++t) {
        stands = hn::Or(stands, hn::Eq(column, hn::Set(d, static_cast<std::int32_t>(t * step))));
      }
      inside = hn::And(inside, stands);
    }
    good = hn::Or(good, inside);
  }
  return good;
}

template <class Code>
bool relative(const std::int64_t* index, const std::int32_t* base, index_t n, std::int64_t origin,
              const std::int32_t* rows, int row_count, PlaceColumns columns, std::int32_t* scratch, void* out) {
  std::int32_t* codes = sizeof(Code) == 4 ? static_cast<std::int32_t*>(out) : scratch;
  bool fine = !narrow(index, base, n, origin, codes);
  const hn::ScalableTag<std::int32_t> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  auto good = hn::Eq(hn::Zero(d), hn::Zero(d));
  const auto check = [&](index_t i) HWY_ATTR {
    good = hn::And(good, is_place(d, hn::LoadU(d, codes + i), hn::LoadU(d, columns.low + i),
                                  hn::LoadU(d, columns.high + i), columns.step, kMostPlaceTaps, rows, row_count));
  };
  index_t i = 0;
  if (row_count > 0 && n >= step) {
    for (; i + step <= n; i += step) check(i);
    if (i < n) check(n - step);
    fine &= hn::AllTrue(d, good);
  } else if (row_count > 0) {
    const hn::CappedTag<std::int32_t, 1> d1;
    for (i = 0; i < n; ++i) {
      fine &= hn::AllTrue(d1, is_place(d1, hn::LoadU(d1, codes + i), hn::LoadU(d1, columns.low + i),
                                       hn::LoadU(d1, columns.high + i), columns.step, kMostPlaceTaps, rows, row_count));
    }
  }
  if constexpr (sizeof(Code) != 4) {
    for (i = 0; i < n; ++i) static_cast<Code*>(out)[i] = codes[i];
  }
  return fine;
}

template <class A>
GatherKernels kernels_of() {
  GatherKernels k;
  k.flat = &flat<A>;
  k.positions = &positions<A>;
  k.widen = &widen<CodeOf<A>>;
  k.relative = &relative<CodeOf<A>>;
  k.vector_bytes = static_cast<index_t>(hn::Lanes(hn::ScalableTag<A>()) * sizeof(A));
  return k;
}

GatherKernels gather(Lane lane) { return lane == Lane::f64 ? kernels_of<double>() : kernels_of<float>(); }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/argmax/argmax_kernels.h"
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(gather);
}
const GatherTable& gather_table() {
  static const PerTarget<GatherTable> tables{
      [](GatherTable& table, std::size_t which) { table.gather = HWY_DISPATCH_TABLE(gather)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
