// Every step-th group of a few bytes, picked out of a row: how rows are split by place modulo the windows' step.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/strided_copy.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <array>
#include <cstring>

#include "cpu/simd/strided_copy.h"
#include "hwy/highway.h"

#ifndef ORIEL_CPU_PICK_PLANS
#define ORIEL_CPU_PICK_PLANS
namespace oriel::cpu {

// How 16 bytes are put together from loads that each hold two groups or more.
struct PickPlan {
  static constexpr int kMostParts = 8;
  using Table = std::array<std::uint8_t, 16>;  // for TableLookupBytesOr0: 0x80 gives 0

  int groups = 0;                                         // that 16 bytes hold
  int parts = 0;                                          // loads; 0: there is no plan
  std::array<int, kMostParts> from_first{}, from_last{};  // where they begin, seen from the first group of the block
  std::array<Table, kMostParts> first{}, last{};

  constexpr PickPlan() = default;
  constexpr PickPlan(int bytes, int step) {
    if ((step + 1) * bytes > 16) return;
    const int held = (16 - bytes) / (step * bytes) + 1;
    groups = 16 / bytes;
    for (int begin = 0; begin < groups; begin += held, ++parts) {
      const auto p = static_cast<std::size_t>(parts);
      const int end = begin + held < groups ? begin + held : groups;
      from_first[p] = begin * step * bytes;
      from_last[p] = ((end - 1) * step + 1) * bytes - 16;  // so that nothing after the last group is read
      for (int b = 0; b < 16; ++b) {
        const int group = b / bytes, at = group * step * bytes + b % bytes;
        const bool here = group >= begin && group < end;
        first[p][static_cast<std::size_t>(b)] = static_cast<std::uint8_t>(here ? at - from_first[p] : 0x80);
        last[p][static_cast<std::size_t>(b)] = static_cast<std::uint8_t>(here ? at - from_last[p] : 0x80);
      }
    }
  }
};

constexpr int kMostPlanBytes = 5, kMostPlanStep = 8;  // (step + 1) * bytes <= 16 with a step of two

constexpr auto make_pick_plans() {
  std::array<std::array<PickPlan, kMostPlanStep + 1>, kMostPlanBytes + 1> plans{};
  for (int bytes = 1; bytes <= kMostPlanBytes; ++bytes) {
    for (int step = 2; step <= kMostPlanStep; ++step) {
      plans[static_cast<std::size_t>(bytes)][static_cast<std::size_t>(step)] = PickPlan(bytes, step);
    }
  }
  return plans;
}
inline constexpr auto kPickPlans = make_pick_plans();

}  // namespace oriel::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Groups that a move of kMove bytes holds. It writes into the next group, which comes later; the last one is exact.
template <std::size_t kMove>
void pick_moves(const std::byte* from, index_t step, index_t n, index_t bytes, std::byte* to) {
  for (index_t i = 0; i + 1 < n; ++i) std::memcpy(to + i * bytes, from + i * step * bytes, kMove);
  if (n > 0) std::memcpy(to + (n - 1) * bytes, from + (n - 1) * step * bytes, static_cast<std::size_t>(bytes));
}

void pick_by_moves(const std::byte* from, index_t step, index_t n, index_t bytes, std::byte* to) {
  if (bytes == 1) return pick_moves<1>(from, step, n, 1, to);
  if (bytes == 2) return pick_moves<2>(from, step, n, 2, to);
  if (bytes <= 4) return pick_moves<4>(from, step, n, bytes, to);
  if (bytes == 8) return pick_moves<8>(from, step, n, 8, to);
  if (bytes <= 8) return pick_moves<8>(from, step, n, bytes, to);
  if (bytes <= 16) return pick_moves<16>(from, step, n, bytes, to);
  if (bytes <= 32) return pick_moves<32>(from, step, n, bytes, to);
  for (index_t i = 0; i < n; ++i) {
    std::memcpy(to + i * bytes, from + i * step * bytes, static_cast<std::size_t>(bytes));
  }
}

#if HWY_TARGET != HWY_SCALAR
template <int kParts>
HWY_INLINE void pick_block(const PickPlan& plan, const std::array<int, PickPlan::kMostParts>& begin,
                           const std::array<PickPlan::Table, PickPlan::kMostParts>& tables, const std::byte* from,
                           std::byte* to) {
  const hn::Full128<std::uint8_t> d;
  const auto part = [&](std::size_t p) HWY_ATTR {
    const auto* x = reinterpret_cast<const std::uint8_t*>(from + begin[p]);
    return hn::TableLookupBytesOr0(hn::LoadU(d, x), hn::LoadU(d, tables[p].data()));
  };
  auto v = part(0);
  if constexpr (kParts > 0) {
    for (std::size_t p = 1; p < kParts; ++p) v = hn::Or(v, part(p));
  } else {
    for (int p = 1; p < plan.parts; ++p) v = hn::Or(v, part(static_cast<std::size_t>(p)));
  }
  hn::StoreU(v, d, reinterpret_cast<std::uint8_t*>(to));
}

template <int kParts>
void pick_blocks(const PickPlan& plan, const std::byte* from, index_t step, index_t n, index_t bytes, std::byte* to) {
  const auto final_part = static_cast<std::size_t>(plan.parts - 1);
  const index_t size = step * bytes, total = (n - 1) * size + bytes;
  index_t i = 0;
  for (; i + plan.groups < n && i * size + plan.from_first[final_part] + 16 <= total && (i * bytes + 16) <= n * bytes;
       i += plan.groups) {
    pick_block<kParts>(plan, plan.from_first, plan.first, from + i * size, to + i * bytes);
  }
  const index_t left = n - plan.groups;  // the last block may overlap the one before
  const bool fills = plan.groups * bytes == 16, in_front = left * size + plan.from_last[0] < 0;
  if (i >= left && left >= 0 && fills && !in_front) {
    return pick_block<kParts>(plan, plan.from_last, plan.last, from + left * size, to + left * bytes);
  }
  pick_by_moves(from + i * size, step, n - i, bytes, to + i * bytes);
}
#endif

void pick_groups(const void* from_row, index_t step, index_t n, index_t bytes, void* to_row) {
  const auto* from = static_cast<const std::byte*>(from_row);
  auto* to = static_cast<std::byte*>(to_row);
#if HWY_TARGET != HWY_SCALAR
  if (bytes <= kMostPlanBytes && step <= kMostPlanStep && step >= 2) {
    const PickPlan& plan = kPickPlans[static_cast<std::size_t>(bytes)][static_cast<std::size_t>(step)];
    if (plan.parts != 0 && n >= plan.groups) {
      switch (plan.parts) {
        case 2:
          return pick_blocks<2>(plan, from, step, n, bytes, to);
        case 3:
          return pick_blocks<3>(plan, from, step, n, bytes, to);
        default:
          return pick_blocks<0>(plan, from, step, n, bytes, to);
      }
    }
  }
#endif
  pick_by_moves(from, step, n, bytes, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(pick_groups);
}
StridedCopy strided_copy() {
  static const PerTarget<StridedCopy> all{
      [](StridedCopy& one, std::size_t which) { one = HWY_DISPATCH_TABLE(pick_groups)[which]; }};
  return all.active();
}
}  // namespace oriel::cpu
#endif
