// Ways in which a tensor can lie in memory.
#pragma once

#include <string>
#include <vector>

#include "io/array.h"
#include "oriel/tensor.h"

namespace oriel::cli {

/// How elements lie in memory.
struct Layout {
  std::string name;
  Extents order;          // axes from outermost to innermost
  index_t step = 1;       // elements from one to the next along the innermost axis
  index_t row_gap = 0;    // unused elements after each innermost row
  bool reversed = false;  // every axis runs backwards
};

/// The layouts that `oriel check` tries on a tensor of this rank.
std::vector<Layout> layouts_of(int rank);

/// A tensor in memory of its own, in some layout; the unused bytes hold a pattern.
class Placed {
 public:
  Placed(Dtype dtype, const Extents& shape, const Layout& layout);
  Placed(const ConstTensor& values, const Layout& layout);

  const Tensor& view() const { return view_; }
  /// The elements in C order.
  io::Buffer gather() const;
  /// True when no byte outside the elements was written.
  bool gaps_untouched() const;

 private:
  std::vector<std::byte> memory_;
  Tensor view_;
};

}  // namespace oriel::cli
