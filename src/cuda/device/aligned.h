// Where wide accesses may be made.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "oriel/types.h"

namespace oriel::cuda {

/// Whether `p` and every sum of multiples of the pitches are multiples of `bytes`.
inline bool is_aligned(const void* p, index_t bytes, index_t element, std::initializer_list<index_t> pitches) {
  bool aligned = reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes) == 0;
  for (index_t pitch : pitches) aligned = aligned && pitch * element % bytes == 0;
  return aligned;
}

}  // namespace oriel::cuda
