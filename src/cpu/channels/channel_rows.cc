#include "cpu/channels/channel_rows.h"

#include "cpu/element/sum_width.h"
#include "cpu/plan/fold.h"
#include "cpu/plan/windows.h"
#include "cpu/simd/per_target.h"

namespace oriel::cpu {

const LaneRowTable& lane_row_kernels() {
  static const PerTarget<LaneRowTable> tables{&fill_lane_rows_extremum, &fill_lane_rows_sum};
  return tables.active();
}
namespace {

LaneRowKernel kernel_of(const Problem& problem) {
  const LaneRowTable& k = lane_row_kernels();
  const Pool& pool = problem.pool;
  if (pool.op == Op::max) return k.max(problem.dtype);
  if (pool.op == Op::min) return k.min(problem.dtype);
  if (pool.op == Op::lp || !divides_in_vectors(pool)) return {};
  if (sums_in_16_bits(problem)) return k.bytes(problem.dtype);
  return is_floating(problem.dtype) || sums_narrowly(problem) ? k.sum(problem.dtype) : LaneRowKernel{};
}

}  // namespace

LaneRowKernel lane_rows_of(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  const int along_number = axis_along(layout);
  Axis across = Axis::uniform(1, 1, 1, 0, 0), along = across;
  for (int a = 0; a < layout.pooled(); ++a) {
    const Axis& axis = layout.axis[static_cast<std::size_t>(a)].axis;
    if (axis.adaptive || (!job.plain.any_order && has_empty_window(axis))) return {};
    (a == along_number ? along : across) = axis;
  }
  if (layout.pooled() - (along_number >= 0 ? 1 : 0) > 1) return {};
  const bool taken = LaneRowKernel::takes(across.kernel, along.kernel, along.stride, along.dilation);
  return taken ? kernel_of(*job.problem) : LaneRowKernel{};
}

}  // namespace oriel::cpu
