// The pool of one block, and the memory that it takes.
#pragma once

#include <optional>

#include "cli/beside_files.h"
#include "io/array.h"
#include "oriel/distributed/local_pool.h"

namespace oriel::cli {

/// Memory for blocks: inputs, outputs, and their places, a mask and weights if there are any.
struct BlockBuffers {
  io::Buffer x, y, places, mask, weights;
};

/// Makes boxes of a problem's outputs from the inputs that they need. Refers to `plan`, that of one rank, and `beside`.
class BlockPool {
 public:
  /// `order` is that of the inputs' axes in memory; `space` what the places of extrema count, if they are made too.
  BlockPool(const distributed::HaloPlan& plan, const Extents& order, std::optional<IndexSpace> space,
            const BesideVolumes& beside);

  /// Memory for so many inputs and outputs.
  BlockBuffers allocate(index_t inputs, index_t outputs) const;
  /// What a block works on, in that memory.
  distributed::Operands operands_of(const distributed::Box& block, const BlockBuffers& buffers) const;
  /// The box of a mask, or weights, of shape `whole` that a block needs.
  distributed::Box beside_of(const Extents& whole, const distributed::Box& block) const;
  /// `q` is the quantile to make, if there are several.
  void pool(const distributed::Box& block, const distributed::Operands& operands, int threads,
            std::optional<double> q = std::nullopt) const;

  /// Bytes of an output, with its place if those are made; of an input, with what is beside it; of a box and its
  /// inputs.
  index_t output_bytes() const;
  index_t input_bytes() const;
  index_t bytes_of(const distributed::Box& box) const;
  /// What this process holds more, and held more on its way, after the outputs of a box were made from zeros in one
  /// thread; 0 if the box itself takes more than `most`.
  index_t trial_bytes(const distributed::Box& box, index_t most) const;

 private:
  const distributed::HaloPlan& plan_;
  Dtype dtype_, result_;  // of inputs and outputs
  Extents order_;
  std::optional<IndexSpace> space_;
  const BesideVolumes& beside_;
};

}  // namespace oriel::cli
