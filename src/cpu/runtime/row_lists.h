// Windows that overlap along dense rows, and what is listed for every row of a box: the same for every plane.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// Windows along dense rows: tap t of output o is input first + o * stride + t, or does not exist.
struct OverlapWindows {
  index_t in = 0;
  index_t out = 0;
  index_t first = 0;
  int kernel = 1;
  int stride = 1;
};

/// What row r of a box lists: `all` from begin[r] to begin[r + 1].
template <class Item>
struct OverlapList {
  index_t rows = 0;
  index_t* begin = nullptr;
  Item* all = nullptr;
};

/// Whether there are kernels for such windows, where there are any.
constexpr bool is_overlap(index_t kernel, index_t stride) {
  return (stride == 1 && (kernel == 2 || kernel == 3 || kernel == 5)) || (stride == 2 && (kernel == 3 || kernel == 4));
}

}  // namespace oriel::cpu
