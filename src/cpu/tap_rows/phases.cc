// Rows split by place modulo the windows' step, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tap_rows/phases.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/fold-inl.h"
#include "cpu/simd/strided_copy.h"
#include "cpu/tap_rows/phases.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The first groups of all phases, in whole vectors; returns how many of each.
template <int kStep, class T>
HWY_INLINE index_t split_vectors(const T* HWY_RESTRICT from, index_t n, index_t pitch, index_t ahead,
                                 T* HWY_RESTRICT to) {
  index_t i = 0;
  if constexpr (kHasVectors<T>) {
    const hn::ScalableTag<T> d;
    const index_t lanes = static_cast<index_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      const T* x = from + i * kStep;
      if (ahead != 0) {  // rows apart from each other are not foreseen by the hardware
        const char* next = reinterpret_cast<const char*>(x) + ahead;
        for (index_t b = 0; b < kStep * lanes * static_cast<index_t>(sizeof(T)); b += 64)
          __builtin_prefetch(next + b, 0, 2);
      }
      hn::Vec<decltype(d)> v[4];
      if constexpr (kStep == 2) {
        hn::LoadInterleaved2(d, x, v[0], v[1]);
      } else if constexpr (kStep == 3) {
        hn::LoadInterleaved3(d, x, v[0], v[1], v[2]);
      } else {
        hn::LoadInterleaved4(d, x, v[0], v[1], v[2], v[3]);
      }
      for (int p = 0; p < kStep; ++p) hn::StoreU(v[p], d, to + p * pitch + i);
    }
  }
  return i;
}

template <class T>
HWY_INLINE index_t split_first(const PhaseRows& r, const std::byte* row, std::byte* phases) {
  const T* from = reinterpret_cast<const T*>(row);
  T* to = reinterpret_cast<T*>(phases);
  const index_t pitch = r.pitch / static_cast<index_t>(sizeof(T));
  if (r.step == 2) return split_vectors<2>(from, r.least, pitch, r.ahead, to);
  if (r.step == 3) return split_vectors<3>(from, r.least, pitch, r.ahead, to);
  if (r.step == 4) return split_vectors<4>(from, r.least, pitch, r.ahead, to);
  return 0;
}

void split_row(const PhaseRows& r, const std::byte* from, std::byte* to) {
  index_t done = 0;
  if (r.lanes == 1 && r.used == r.step) {
    done = r.bytes == 1   ? split_first<std::uint8_t>(r, from, to)
           : r.bytes == 2 ? split_first<std::uint16_t>(r, from, to)
           : r.bytes == 4 ? split_first<std::uint32_t>(r, from, to)
                          : split_first<std::uint64_t>(r, from, to);
  }
  const index_t group = r.lanes * r.bytes;
  for (index_t p = 0; p < r.used; ++p) {
    const index_t left = r.inputs - done * r.step - p;
    if (left <= 0) continue;
    const std::byte* rest = from + (done * r.step + p) * group;
    strided_copy()(rest, r.step, (left - 1) / r.step + 1, group, to + p * r.pitch + done * group);
  }
}

void split_phase_rows(const PhaseRows& r) {
  auto* to = static_cast<std::byte*>(r.to);
  for (index_t a = 0; a < r.count; ++a) {
    if (r.rows[a] != nullptr) split_row(r, r.rows[a] + r.first, to + a * r.step * r.pitch);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(split_phase_rows);
}
SplitPhases split_phases() {
  static const PerTarget<SplitPhases> all{
      [](SplitPhases& one, std::size_t which) { one = HWY_DISPATCH_TABLE(split_phase_rows)[which]; }};
  return all.active();
}
}  // namespace oriel::cpu
#endif
