// Where the results of one plane of an order statistic lie, and what networks cannot compute of it.
#pragma once

#include "cpu/order/rank_plan.h"

namespace oriel::cpu {

class RankPlane {
 public:
  explicit RankPlane(const RankPlan& plan) : plan_(plan) {}

  void move_to(index_t plane);
  /// Elements from the beginning of x to the plane's.
  index_t x() const { return offset_x_; }
  /// Elements from the beginning of y to those of `outputs` in a row.
  index_t y_of(index_t slice, index_t row, Range outputs) const;
  /// Windows with something that is not valid, each from its own taps.
  void run_apart(index_t slice, Range rows, Range outputs) const;

 private:
  const RankPlan& plan_;
  std::array<index_t, kMaxRank> at_{};
  index_t offset_x_ = 0, offset_y_ = 0;
};

}  // namespace oriel::cpu
