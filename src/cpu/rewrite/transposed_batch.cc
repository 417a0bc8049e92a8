#include "cpu/rewrite/transposed_batch.h"

#include <algorithm>
#include <cstring>

namespace oriel::cpu {
namespace {

constexpr index_t kFewestLanes = 16;
constexpr index_t kMostLanes = 256;

}  // namespace

index_t batch_lanes(index_t planes, index_t plane_bytes, index_t scratch, index_t most) {
  if (plane_bytes == 0 || plane_bytes > most / kFewestLanes) return 0;
  const index_t fit = std::clamp<index_t>(scratch / plane_bytes, kFewestLanes, kMostLanes);
  return std::min(fit, planes) / kFewestLanes * kFewestLanes;
}

void TurnedBatch::turn(const void* from, Range part, index_t elems, void* to) const {
  const index_t here = part.size() * elems * bytes_, all = lanes_ * elems * bytes_;
  const std::byte* x = static_cast<const std::byte*>(from) + part.begin * elems * bytes_;
  if (here < all) {
    std::memcpy(some_, x, static_cast<std::size_t>(here));
    std::memset(some_ + here, 0, static_cast<std::size_t>(all - here));
    x = some_;
  }
  transpose_(x, lanes_, elems, bytes_, to);
}

void TurnedBatch::turn_back(const void* from, Range part, index_t elems, void* to) const {
  std::byte* y = static_cast<std::byte*>(to) + part.begin * elems * bytes_;
  if (part.size() == lanes_) return transpose_(from, elems, lanes_, bytes_, y);
  transpose_(from, elems, lanes_, bytes_, some_);
  std::memcpy(y, some_, static_cast<std::size_t>(part.size() * elems * bytes_));
}

}  // namespace oriel::cpu
