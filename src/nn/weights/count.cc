#include "nn/weights/formats.h"

#include <fmt/format.h>

namespace oriel::nn {

index_t count_of(const Extents& shape, const std::string& what) {
  index_t count = 1;
  for (index_t extent : shape) {
    if (extent == 0) return 0;
    if (__builtin_mul_overflow(count, extent, &count))
      throw Error(fmt::format("{}: {} has more than 2^63 - 1 elements", what, to_string(shape)));
  }
  return count;
}

}  // namespace oriel::nn
