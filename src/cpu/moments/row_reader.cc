#include "cpu/moments/row_reader.h"

#include "cpu/simd/strided_copy.h"

namespace oriel::cpu {

RowReader::RowReader(const Statistic& job, const Grid& grid, const MomentRules& rules, const Joiner& joiner,
                     index_t width, Arena& arena)
    : job_(job),
      grid_(grid),
      rules_(rules),
      joiner_(joiner),
      lift_(lift_elements()[static_cast<std::size_t>(job.problem.dtype)]),
      inputs_(grid.row < 0 ? 1 : grid.pooled[static_cast<std::size_t>(grid.row)].axis.in),
      x_(arena.take(width * 8)) {
  if (grid.row >= 0) step_ = grid.pooled[static_cast<std::size_t>(grid.row)].step;
  if (job.mask != nullptr) mask_ = arena.take(width);
  if (job.weights != nullptr) weights_ = arena.take(width * 8);
  if (!rules.lift.all_valid()) valid_ = arena.take_array<std::uint32_t>(width);
}

// Elements of a row, numbered position by position, without gaps between them: where they lie or in `room`.
const void* RowReader::gather(const ConstTensor& from, index_t offset, index_t pitch, index_t lane_pitch,
                              Range elements, std::byte* room) const {
  const index_t bytes = size_bytes(from.dtype), lanes = grid_.lanes.n;
  const auto* data = static_cast<const std::byte*>(from.data);
  const auto at = [&](index_t element) {
    return data + (offset + element / lanes * pitch + element % lanes * lane_pitch) * bytes;
  };
  const bool one_lane = lanes == 1, one_position = elements.begin / lanes == (elements.end - 1) / lanes;
  if (one_lane || one_position || pitch == lanes * lane_pitch) {
    const index_t step = one_lane ? pitch : lane_pitch;
    if (step == 1) return at(elements.begin);
    if (step > 1) {
      strided_copy()(at(elements.begin), step, elements.size(), bytes, room);
      return room;
    }
  }
  for (index_t e = elements.begin; e < elements.end; ++e)
    std::memcpy(room + (e - elements.begin) * bytes, at(e), static_cast<std::size_t>(bytes));
  return room;
}

void RowReader::read(const OperandSteps& offset, index_t first, Range states, const StateRow& out) const {
  const index_t lanes = grid_.lanes.n;
  const Range there = intersect({-first * lanes, (inputs_ - first) * lanes}, states);
  const index_t end = states.begin + whole_steps(states.size());
  if (there.empty()) return joiner_.clear(out, end - states.begin);
  joiner_.clear(out, there.begin - states.begin);
  joiner_.clear(joiner_.moved_row(out, there.end - states.begin), end - there.end);
  const Range elements{there.begin + first * lanes, there.end + first * lanes};
  LiftRow row;
  row.n = elements.size();
  row.valid = valid_;
  row.out = joiner_.moved_row(out, there.begin - states.begin);
  row.x = gather(job_.x, offset.x, step_.x, grid_.lanes.step.x, elements, x_);
  if (job_.mask != nullptr)
    row.mask = static_cast<const std::uint8_t*>(
        gather(*job_.mask, offset.mask, step_.mask, grid_.lanes.step.mask, elements, mask_));
  if (job_.weights != nullptr)
    row.weights = gather(*job_.weights, offset.weights, step_.weights, grid_.lanes.step.weights, elements, weights_);
  lift_(row, rules_.lift);
}

}  // namespace oriel::cpu
