// How the loops over a job lie over memory: which axis runs along rows, what stands beside each other in it, and what
// is left as planes.
#pragma once

#include "cpu/plan/statistic.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

/// Distances in elements along a dimension of the tensor, or offsets.
struct OperandSteps {
  index_t x = 0, mask = 0, weights = 0, y = 0;

  void add(const OperandSteps& step, index_t n) {
    x += n * step.x;
    mask += n * step.mask;
    weights += n * step.weights;
    y += n * step.y;
  }
};

struct GridDim {
  index_t n = 1;
  OperandSteps step;
};

/// A row is a number of positions along an axis (or one, if row < 0) times `lanes` independent elements at each.
struct Grid {
  struct Pooled {
    Axis axis;
    OperandSteps step;
  };

  explicit Grid(const Statistic& job);

  InlineList<Pooled, kMaxPooledAxes> pooled;  // in the order of folds
  int row = -1;                               // which of them runs along rows
  GridDim lanes;
  InlineList<GridDim, kMaxRank> planes;

  index_t plane_count() const;
  OperandSteps plane_offset(index_t plane) const;
};

}  // namespace oriel::cpu
