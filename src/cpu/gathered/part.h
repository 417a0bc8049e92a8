// A box of a pool's outputs as a pool of its own.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

/// Half-open ranges of outputs along the axes of x.
using OutputBox = std::array<Range, kMaxRank>;

/// Computes the outputs of a box with `run`. `job` has no indices: those of a part would count it alone.
template <class Run>
void run_part(const Statistic& job, const OutputBox& box, const Run& run) {
  Problem part = job.problem;
  const int lead = job.y.rank() - job.x.rank();
  ConstTensor x = job.x;
  Tensor y = job.y;
  std::array<ConstTensor, 2> beside;
  const std::array<const ConstTensor*, 2> given = {job.mask, job.weights};
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] != nullptr) beside[i] = *given[i];
  const auto move = [](auto& tensor, int axis, index_t by, index_t extent) {
    using Byte =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(tensor.data)>>, const std::byte, std::byte>;
    tensor.data = static_cast<Byte*>(tensor.data) + by * tensor.pitch[axis] * size_bytes(tensor.dtype);
    tensor.shape[axis] = extent;
  };
  for (int d = 0; d < x.rank(); ++d) {
    const Range outputs = box[static_cast<std::size_t>(d)];
    if (outputs.empty()) return;
    Range inputs = outputs;
    for (int a = 0; a < part.pooled; ++a) {
      const auto i = static_cast<std::size_t>(a);
      if (part.axes[i] != d) continue;
      inputs = part.axis[i].needs(outputs);
      part.axis[i] = part.axis[i].slice(outputs);
    }
    move(x, d, inputs.begin, inputs.size());
    move(y, d + lead, outputs.begin, outputs.size());
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i] != nullptr) move(beside[i], d, inputs.begin, inputs.size());
  }
  part.shape = x.shape;
  part.output_shape = y.shape;
  run(Statistic{.problem = part,
                .x = x,
                .y = y,
                .mask = job.mask != nullptr ? &beside[0] : nullptr,
                .weights = job.weights != nullptr ? &beside[1] : nullptr});
}

}  // namespace oriel::cpu
