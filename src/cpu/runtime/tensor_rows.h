// Loops over all elements of tensors of one shape, for the steps that are not folds.
#pragma once

#include <memory>

#include "cpu/runtime/parallel.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// Dense scratch memory with a tensor's shape; its elements are not set.
class TemporaryTensor {
 public:
  TemporaryTensor(Dtype dtype, const Extents& shape)
      : memory_(std::make_unique_for_overwrite<std::uint64_t[]>(
            static_cast<std::size_t>(element_count(shape) * size_bytes(dtype) / 8 + 1))),
        view_(memory_.get(), dtype, shape) {}
  const Tensor& view() const { return view_; }

 private:
  std::unique_ptr<std::uint64_t[]> memory_;
  Tensor view_;
};

/// Calls body(index, n) for every row along the last axis: `index` are the coordinates of its first element, n its
/// length. Rows are spread over threads.
template <class Body>
void for_each_row(const Extents& shape, int threads, const Body& body) {
  const int rank = shape.size();
  index_t rows = 1;
  for (int d = 0; d + 1 < rank; ++d) rows *= shape[d];
  const index_t n = rank == 0 ? 1 : shape[rank - 1];
  if (n == 0) return;
  parallel_for(rows, n * static_cast<index_t>(sizeof(double)), threads, [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      Extents index = Extents::filled(rank, 0);
      index_t rest = r;
      for (int d = rank - 2; d >= 0; --d) {
        index[d] = rest % shape[d];
        rest /= shape[d];
      }
      body(index, n);
    }
  });
}

/// The element of a view at `index`; the view's dtype is T.
template <class T, class View>
auto element(const View& view, const Extents& index) {
  index_t offset = 0;
  for (int d = 0; d < view.rank(); ++d) offset += index[d] * view.pitch[d];
  using Pointer = std::conditional_t<std::is_same_v<View, Tensor>, T*, const T*>;
  return static_cast<Pointer>(view.data) + offset;
}

}  // namespace oriel::cpu
