// Copies between tensors of any pitch.
#pragma once

#include "oriel/tensor.h"

namespace oriel::detail {

/// Calls row(offset a, offset b), in elements, for each row along the last axis of tensors with pitches a and b.
template <class Row>
void each_row(const Extents& shape, const Extents& a, const Extents& b, const Row& row) {
  for (index_t n : shape) {
    if (n == 0) return;
  }
  const int last = shape.size() - 1;
  Extents at = Extents::filled(shape.size(), 0);
  index_t at_a = 0, at_b = 0;
  while (true) {
    row(at_a, at_b);
    int d = last - 1;
    for (; d >= 0; --d) {
      at_a += a[d];
      at_b += b[d];
      if (++at[d] < shape[d]) break;
      at_a -= at[d] * a[d];
      at_b -= at[d] * b[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

/// to = from, of equal shape and dtype.
void copy_elements(const ConstTensor& from, const Tensor& to);

/// Every element of `to` = the element at `value`.
void fill_elements(const Tensor& to, const void* value);

}  // namespace oriel::detail
