#include "cpu/moments/grid.h"

#include <cstdlib>

namespace oriel::cpu {
namespace {

// Lanes alone are enough for vectors from here on.
constexpr index_t kManyLanes = 32;
constexpr index_t kPlanesBytes = index_t{1} << 18;

OperandSteps steps_of(const Statistic& job, int d) {
  OperandSteps step;
  step.x = job.x.pitch[d];
  if (job.mask != nullptr) step.mask = job.mask->pitch[d];
  if (job.weights != nullptr) step.weights = job.weights->pitch[d];
  step.y = job.y.pitch[d];
  return step;
}

// Rows of few results are worse than lanes that lie apart, if the planes of as many lanes as are folded together stay
// in a cache, or if there is one pooled axis, which goes through memory once: the longest such dimension, or -1.
int lanes_apart(const Statistic& job, const std::array<int, kMaxRank>& axis_of) {
  int longest = -1;
  for (int d = 0; d < job.x.rank(); ++d)
    if (axis_of[static_cast<std::size_t>(d)] < 0 && (longest < 0 || job.x.shape[d] > job.x.shape[longest])) longest = d;
  if (longest < 0 || job.x.shape[longest] < kManyLanes) return -1;
  index_t bytes = std::min<index_t>(job.x.shape[longest], 512) * size_bytes(job.x.dtype);
  for (int a = 0; a < job.problem.pooled; ++a) bytes *= job.problem.axis[static_cast<std::size_t>(a)].in;
  return job.problem.pooled == 1 || bytes <= kPlanesBytes ? longest : -1;
}

}  // namespace

Grid::Grid(const Statistic& job) {
  const Problem& problem = job.problem;
  std::array<int, kMaxRank> axis_of;
  axis_of.fill(-1);
  for (int a = 0; a < problem.pooled; ++a) {
    const auto i = static_cast<std::size_t>(a);
    axis_of[static_cast<std::size_t>(problem.axes[i])] = a;
    pooled.push_back({problem.axis[i], steps_of(job, problem.axes[i])});
  }
  // The dimension whose elements are nearest to each other, and the nearest pooled one.
  int nearest = -1, nearest_pooled = -1;
  for (int d = 0; d < job.x.rank(); ++d) {
    if (job.x.shape[d] < 2) continue;
    const index_t pitch = std::abs(job.x.pitch[d]);
    if (nearest < 0 || pitch < std::abs(job.x.pitch[nearest])) nearest = d;
    if (axis_of[static_cast<std::size_t>(d)] < 0) continue;
    if (nearest_pooled < 0 || pitch < std::abs(job.x.pitch[nearest_pooled])) nearest_pooled = d;
  }
  int lane_dim = -1;
  if (nearest >= 0 && axis_of[static_cast<std::size_t>(nearest)] < 0) {
    lane_dim = nearest;
    lanes = {job.x.shape[nearest], steps_of(job, nearest)};
  }
  if (lanes.n < kManyLanes)
    row = nearest_pooled < 0 ? problem.pooled - 1 : axis_of[static_cast<std::size_t>(nearest_pooled)];
  if (row >= 0 && problem.axis[static_cast<std::size_t>(row)].out * lanes.n < kManyLanes) {
    const int apart = lanes_apart(job, axis_of);
    if (apart >= 0) {
      row = -1;
      lane_dim = apart;
      lanes = {job.x.shape[apart], steps_of(job, apart)};
    }
  }
  for (int d = 0; d < job.x.rank(); ++d) {
    if (axis_of[static_cast<std::size_t>(d)] >= 0 || d == lane_dim) continue;
    planes.push_back({job.x.shape[d], steps_of(job, d)});
  }
}

index_t Grid::plane_count() const {
  index_t count = 1;
  for (const GridDim& dim : planes) count *= dim.n;
  return count;
}

OperandSteps Grid::plane_offset(index_t plane) const {
  OperandSteps offset;
  for (int i = planes.size() - 1; i >= 0; --i) {
    const GridDim& dim = planes[static_cast<std::size_t>(i)];
    offset.add(dim.step, plane % dim.n);
    plane /= dim.n;
  }
  return offset;
}

}  // namespace oriel::cpu
