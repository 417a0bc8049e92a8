// The planes of a gradient: what lies in the pooled axes at one place of the others.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// Numbers the places of a tensor's pooled axes, and those of the other axes, each in row-major order of its axes.
class PlaneWalk {
 public:
  explicit PlaneWalk(const Problem& problem) {
    for (int d = 0; d < problem.shape.size(); ++d) {
      bool pooled = false;
      for (int a = 0; a < problem.pooled; ++a) pooled = pooled || problem.axes[static_cast<std::size_t>(a)] == d;
      (pooled ? inside_ : outside_).push_back(d);
    }
    for (const index_t d : outside_) planes_ *= problem.shape[static_cast<int>(d)];
  }

  index_t planes() const { return planes_; }
  /// The elements of a plane of a tensor of that shape.
  index_t size(const Extents& shape) const {
    index_t product = 1;
    for (const index_t d : inside_) product *= shape[static_cast<int>(d)];
    return product;
  }
  /// The coordinates of place number `place` of plane number `plane`.
  Extents at(index_t plane, index_t place, const Extents& shape) const {
    Extents coordinates = shape;
    spread(outside_, plane, shape, coordinates);
    spread(inside_, place, shape, coordinates);
    return coordinates;
  }
  /// The number of a place in its plane.
  index_t place(const Extents& coordinates, const Extents& shape) const {
    index_t number = 0;
    for (const index_t d : inside_) number = number * shape[static_cast<int>(d)] + coordinates[static_cast<int>(d)];
    return number;
  }

 private:
  static void spread(const Extents& dims, index_t number, const Extents& shape, Extents& coordinates) {
    for (int i = dims.size() - 1; i >= 0; --i) {
      const int d = static_cast<int>(dims[i]);
      coordinates[d] = number % shape[d];
      number /= shape[d];
    }
  }

  Extents inside_, outside_;
  index_t planes_ = 1;
};

}  // namespace oriel::cpu
