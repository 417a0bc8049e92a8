// Running sums of integers, per instruction set. Those that run along a whole row may wrap: what is asked for are their
// differences, which fit.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sliding/running_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/sliding/running_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements of T as unsigned accumulators, negative ones by their two's complement.
template <class T, class D>
HWY_INLINE hn::Vec<D> widened(D d, const T* x) {
  if constexpr (std::is_signed_v<T>) {
    return hn::BitCast(d, hn::PromoteTo(hn::RebindToSigned<D>(), hn::LoadU(hn::Rebind<T, D>(), x)));
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), x));
  }
}

template <class T, class D>
HWY_INLINE void gain_at(D d, const RunningRows& rows, index_t i) {
  auto* columns = static_cast<hn::TFromD<D>*>(rows.columns) + i;
  auto sum = hn::LoadU(d, columns);
  for (index_t r = 0; r < rows.entering_count; ++r) {
    sum = hn::Add(sum, widened(d, static_cast<const T*>(rows.entering[r]) + i));
  }
  for (index_t r = 0; r < rows.leaving_count; ++r) {
    sum = hn::Sub(sum, widened(d, static_cast<const T*>(rows.leaving[r]) + i));
  }
  hn::StoreU(sum, d, columns);
}

// One row enters and one leaves, which is the rule. Returns the elements that whole vectors hold.
template <class T, class D>
HWY_INLINE index_t exchange(D d, const RunningRows& rows) {
  auto* HWY_RESTRICT columns = static_cast<hn::TFromD<D>*>(rows.columns);
  const T* HWY_RESTRICT enter = static_cast<const T*>(rows.entering[0]);
  const T* HWY_RESTRICT leave = static_cast<const T*>(rows.leaving[0]);
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + lanes <= rows.n; i += lanes) {
    const auto change = hn::Sub(widened(d, enter + i), widened(d, leave + i));
    hn::StoreU(hn::Add(hn::LoadU(d, columns + i), change), d, columns + i);
  }
  return i;
}

template <class T, class A>
void gain(const RunningRows& rows) {
  const hn::ScalableTag<A> d;
  const hn::CappedTag<A, 4> few;
  const hn::CappedTag<A, 1> one;
  const auto some = [&](auto tag, index_t i) HWY_ATTR {
    const index_t lanes = static_cast<index_t>(hn::Lanes(tag));
    for (; i + lanes <= rows.n; i += lanes) gain_at<T>(tag, rows, i);
    return i;
  };
  const bool one_each = rows.entering_count == 1 && rows.leaving_count == 1;
  some(one, some(few, one_each ? exchange<T>(d, rows) : some(d, 0)));
}

// sums[i] = columns[i] + sums[i - move], where that is at least a vector away.
template <class A>
void run_far(const A* HWY_RESTRICT columns, index_t n, index_t move, A* sums) {
  const hn::ScalableTag<A> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < n; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, columns + i), hn::LoadU(d, sums + i - move)), d, sums + i);
  }
}

// The same where it is nearer: by kDoublings within each vector, then what has run up to it.
template <class A, int kDoublings>
void run_near(const A* HWY_RESTRICT columns, index_t n, index_t move, A* HWY_RESTRICT sums) {
  const hn::ScalableTag<A> d;
  using Place = hn::TFromD<hn::RebindToSigned<decltype(d)>>;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  HWY_ALIGN Place place[hn::MaxLanes(d)];
  for (index_t l = 0; l < lanes; ++l) place[l] = static_cast<Place>(lanes - move + l % move);
  const auto last = hn::SetTableIndices(d, place);
  decltype(hn::SetTableIndices(d, place)) from[kDoublings];
  hn::Vec<decltype(d)> kept[kDoublings];
  for (int at = 0; at < kDoublings; ++at) {
    const index_t shift = move << at;
    for (index_t l = 0; l < lanes; ++l) place[l] = static_cast<Place>(l < shift ? 0 : l - shift);
    from[at] = hn::SetTableIndices(d, place);
    kept[at] = hn::Not(hn::VecFromMask(d, hn::FirstN(d, static_cast<std::size_t>(shift))));
  }
  const bool aligned = lanes % move == 0;
  auto before = hn::Zero(d);
  for (index_t i = 0; i < n; i += lanes) {
    auto sum = hn::LoadU(d, columns + i);
    for (int at = 0; at < kDoublings; ++at) {
      sum = hn::Add(sum, hn::And(hn::TableLookupLanes(sum, from[at]), kept[at]));
    }
    const auto all = hn::Add(sum, before);
    hn::StoreU(all, d, sums + i);
    // Where lanes keep their places modulo `move`, only an addition waits for the vector before.
    before = aligned ? hn::Add(before, hn::TableLookupLanes(sum, last)) : hn::TableLookupLanes(all, last);
  }
}

template <class A, int kDoublings = 1>
void run_sums(const A* columns, index_t n, index_t move, A* sums) {
  const hn::ScalableTag<A> d;
  constexpr index_t kMost = hn::MaxLanes(d);
  if (move >= static_cast<index_t>(hn::Lanes(d))) return run_far(columns, n, move, sums);
  if constexpr ((index_t{1} << kDoublings) <= kMost) {
    if ((move << kDoublings) >= static_cast<index_t>(hn::Lanes(d))) {
      return run_near<A, kDoublings>(columns, n, move, sums);
    }
    run_sums<A, kDoublings + 1>(columns, n, move, sums);
  }
}

template <class A>
void slide(const RunningWindows& w) {
  A* sums = static_cast<A*>(w.sums);
  run_sums(static_cast<const A*>(w.columns), w.n, w.move, sums);
  const hn::ScalableTag<A> d;
  const A* HWY_RESTRICT before = sums + w.start - w.move;
  const A* HWY_RESTRICT last = before + w.kernel * w.move;
  A* HWY_RESTRICT out = static_cast<A*>(w.out);
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < w.windows; i += lanes) {
    hn::StoreU(hn::Sub(hn::LoadU(d, last + i), hn::LoadU(d, before + i)), d, out + i);
  }
}

template <class T>
RunningKernels running_kernels(index_t value_bytes) {
  if constexpr (sizeof(T) < 4) {
    if (value_bytes == 4) return {&gain<T, std::uint32_t>, &slide<std::uint32_t>};
    return {};
  } else {
    return {&gain<T, std::uint64_t>, &slide<std::uint64_t>};
  }
}

RunningKernels running_sums(Dtype dtype, index_t value_bytes) {
  switch (dtype) {
    case Dtype::u8:
      return running_kernels<std::uint8_t>(value_bytes);
    case Dtype::i8:
      return running_kernels<std::int8_t>(value_bytes);
    case Dtype::u16:
      return running_kernels<std::uint16_t>(value_bytes);
    case Dtype::i16:
      return running_kernels<std::int16_t>(value_bytes);
    case Dtype::u32:
      return running_kernels<std::uint32_t>(value_bytes);
    case Dtype::i32:
      return running_kernels<std::int32_t>(value_bytes);
    default:
      return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(running_sums);
}
const RunningTable& running_table() {
  static const PerTarget<RunningTable> tables{
      [](RunningTable& table, std::size_t which) { table.sums = HWY_DISPATCH_TABLE(running_sums)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
