#include "cpu/moments/row_writer.h"

#include <cstring>

namespace oriel::cpu {

RowWriter::RowWriter(const Statistic& job, const Grid& grid, const MomentRules& rules, index_t most, Arena& arena)
    : job_(job), grid_(grid), rules_(rules), kernels_(lower_elements()) {
  const index_t n = whole_steps(most);
  for (double** row : {&taps_along_, &counted_along_, &taps_, &counted_, &count_, &divisor_, &room_})
    *row = arena.take_array<double>(n);
  results_ = arena.take(n * 8);
}

void RowWriter::begin_rows(Range outputs, Range lane_range) {
  outputs_ = outputs;
  lanes_ = lane_range;
  const index_t lanes = lane_range.size();
  n_ = outputs.size() * lanes;
  last_taps_ = last_counted_ = -1;
  for (index_t o = outputs.begin; o < outputs.end; ++o) {
    double taps = 1, counted = 1;
    if (grid_.row >= 0) {
      const Axis& axis = grid_.pooled[static_cast<std::size_t>(grid_.row)].axis;
      taps = static_cast<double>(axis.taps(o).size());
      counted = static_cast<double>(axis.divisor(o, true));
    }
    std::fill_n(taps_along_ + (o - outputs.begin) * lanes, lanes, taps);
    std::fill_n(counted_along_ + (o - outputs.begin) * lanes, lanes, counted);
  }
  for (index_t i = n_; i < whole_steps(n_); ++i) taps_along_[i] = counted_along_[i] = 1;
}

const double* RowWriter::scaled(const double* along, index_t factor, index_t& last, double* room) const {
  if (factor == 1) return along;
  if (last != factor) {
    for (index_t i = 0; i < whole_steps(n_); ++i) room[i] = along[i] * static_cast<double>(factor);
    last = factor;
  }
  return room;
}

void RowWriter::write(const StateRow& row, const std::array<index_t, kMaxPooledAxes>& output,
                      const OperandSteps& offset) {
  const Pool& pool = job_.problem.pool;
  index_t taps = 1, counted = 1;
  for (int a = 0; a < grid_.pooled.size(); ++a) {
    if (a == grid_.row) continue;
    const auto i = static_cast<std::size_t>(a);
    taps *= grid_.pooled[i].axis.taps(output[i]).size();
    counted *= grid_.pooled[i].axis.divisor(output[i], true);
  }
  LowerRow lower;
  lower.state = row;
  lower.n = n_;
  lower.room = room_;
  lower.existing = scaled(taps_along_, taps, last_taps_, taps_);
  lower.count = lower.existing;
  if (rules_.counted) lower.count = row.as<double>(2);
  if (rules_.count_field >= 0) {
    kernels_.widen(row.as<std::uint32_t>(static_cast<std::size_t>(rules_.count_field)), n_, count_);
    lower.count = count_;
  }
  if (rules_.divides) {
    if (pool.divisor > 0) {
      std::fill_n(divisor_, whole_steps(n_), static_cast<double>(pool.divisor));
      lower.divisor = divisor_;
    } else if (!pool.count_include_pad) {
      lower.divisor = lower.count;
    } else {
      lower.divisor = scaled(counted_along_, counted, last_counted_, counted_);
      if (lower.count != lower.existing) {
        for (index_t i = 0; i < whole_steps(n_); ++i)
          divisor_[i] = lower.divisor[i] - (lower.existing[i] - lower.count[i]);
        lower.divisor = divisor_;
      }
    }
  }
  const index_t bytes = size_bytes(job_.problem.result), lanes = lanes_.size();
  OperandSteps step;
  if (grid_.row >= 0) step = grid_.pooled[static_cast<std::size_t>(grid_.row)].step;
  const bool dense =
      lanes == 1 ? step.y == 1 || n_ == 1 : grid_.lanes.step.y == 1 && (step.y == lanes || outputs_.size() == 1);
  const index_t first = offset.y + outputs_.begin * step.y + lanes_.begin * grid_.lanes.step.y;
  lower.y = dense ? static_cast<std::byte*>(job_.y.data) + first * bytes : results_;
  kernels_.lower(lower, rules_.lower);
  if (!dense) scatter(first);
}

void RowWriter::scatter(index_t offset) const {
  const index_t bytes = size_bytes(job_.problem.result), lanes = lanes_.size();
  const index_t pitch = grid_.row >= 0 ? grid_.pooled[static_cast<std::size_t>(grid_.row)].step.y : 0;
  const std::byte* from = results_;
  for (index_t p = 0; p < outputs_.size(); ++p) {
    for (index_t l = 0; l < lanes; ++l, from += bytes) {
      std::memcpy(static_cast<std::byte*>(job_.y.data) + (offset + p * pitch + l * grid_.lanes.step.y) * bytes, from,
                  static_cast<std::size_t>(bytes));
    }
  }
}

}  // namespace oriel::cpu
