// The pool of one block, and the memory that it takes.
#pragma once

#include <optional>

#include "io/array.h"
#include "oriel/distributed/local_pool.h"

namespace oriel::cli {

/// Makes boxes of a problem's outputs from the inputs that they need. Refers to `plan`, that of one rank.
class BlockPool {
 public:
  /// `order` is that of the inputs' axes in memory; `space` what the places of extrema count, if they are made too.
  BlockPool(const distributed::HaloPlan& plan, const Extents& order, std::optional<IndexSpace> space);

  /// Memory for a block: its inputs, its outputs, and their places if those are made.
  distributed::Operands operands_of(const distributed::Box& block, const io::Buffer& x, const io::Buffer& y,
                                    const io::Buffer& places) const;
  void pool(const distributed::Box& block, const distributed::Operands& operands, int threads) const;

  /// Bytes of an output, with its place if those are made; of a box and its inputs.
  index_t output_bytes() const;
  index_t bytes_of(const distributed::Box& box) const;
  /// What this process holds more, and held more on its way, after the outputs of a box were made from zeros in one
  /// thread; 0 if the box itself takes more than `most`.
  index_t trial_bytes(const distributed::Box& box, index_t most) const;

 private:
  const distributed::HaloPlan& plan_;
  Dtype dtype_, result_;  // of inputs and outputs
  Extents order_;
  std::optional<IndexSpace> space_;
};

}  // namespace oriel::cli
