#include "cpu/rank/rank_plane.h"

#include "cpu/gathered/part.h"
#include "cpu/order/rank_taps.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void RankPlane::move_to(index_t plane) {
  offset_x_ = offset_y_ = 0;
  for (int i = plan_.layout.plane_dims - 1; i >= 0; --i) {
    const RankLoop& loop = plan_.layout.planes[at(i)];
    at_[at(i)] = plane % loop.n;
    offset_x_ += at_[at(i)] * loop.x;
    offset_y_ += at_[at(i)] * loop.y;
    plane /= loop.n;
  }
}

index_t RankPlane::y_of(index_t slice, index_t row, Range outputs) const {
  const RankLayout& layout = plan_.layout;
  return offset_y_ + (layout.deep.number < 0 ? 0 : slice * layout.deep.y) +
         (layout.down.number < 0 ? 0 : row * layout.down.y) + outputs.begin * layout.along.y;
}

void RankPlane::run_apart(index_t slice, Range rows, Range outputs) const {
  const Statistic& job = plan_.job;
  OutputBox box;
  if (plan_.layout.lanes.axis >= 0) box[at(plan_.layout.lanes.axis)] = {0, plan_.layout.lanes.n};
  for (int i = 0; i < plan_.layout.plane_dims; ++i) {
    const index_t here = at_[at(i)];
    box[at(plan_.layout.planes[at(i)].axis)] = {here, here + 1};
  }
  for (const auto& [axis, range] : {std::pair(&plan_.layout.along, outputs),
                                    {&plan_.layout.down, rows},
                                    {&plan_.layout.deep, Range{slice, slice + 1}}}) {
    if (axis->number >= 0) box[at(job.problem.axes[at(axis->number)])] = range;
  }
  run_part(job, box, [](const Statistic& part) { run_rank_taps(part, 1); });
}

}  // namespace oriel::cpu
