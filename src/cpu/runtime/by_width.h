// Elements that are only moved.
#pragma once

#include <cstdint>

#include "oriel/types.h"

namespace oriel::cpu {

/// Calls f with a null pointer to an unsigned integer of `bytes`: 1, 2, 4 or 8.
template <class F>
void by_width(index_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return f(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return f(static_cast<std::uint32_t*>(nullptr));
    default:
      return f(static_cast<std::uint64_t*>(nullptr));
  }
}

}  // namespace oriel::cpu
