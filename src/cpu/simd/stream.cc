// Copies that go past the caches, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/stream.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <cstring>

#include "cpu/simd/stream.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void store(const void* from, index_t bytes, bool past_caches, void* to) {
  const auto* in = static_cast<const std::uint8_t*>(from);
  auto* out = static_cast<std::uint8_t*>(to);
  const hn::ScalableTag<std::uint8_t> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  constexpr index_t kLine = 64;
  if (past_caches && step > 1) {
    const index_t head = HWY_MIN(bytes, static_cast<index_t>(-reinterpret_cast<std::uintptr_t>(out) % kLine));
    std::memcpy(out, in, static_cast<std::size_t>(head));
    index_t i = head;
    for (; i + kLine <= bytes; i += kLine) {
      for (index_t j = 0; j < kLine; j += step) hn::Stream(hn::LoadU(d, in + i + j), d, out + i + j);
    }
    std::memcpy(out + i, in + i, static_cast<std::size_t>(bytes - i));
    return;
  }
  std::memcpy(out, in, static_cast<std::size_t>(bytes));
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(store);
}

void finish_stream() { hwy::FlushStream(); }

StoreBytes store_kernel() {
  static const PerTarget<StoreBytes> all{
      [](StoreBytes& one, std::size_t which) { one = HWY_DISPATCH_TABLE(store)[which]; }};
  return all.active();
}
}  // namespace oriel::cpu
#endif
