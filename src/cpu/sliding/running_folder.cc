#include "cpu/sliding/running_folder.h"

#include <algorithm>
#include <cstring>

namespace oriel::cpu {

RunningKernels running_kernels(const FoldJob& job) {
  return running_table().sums(job.problem->dtype, job.plain.value_bytes);
}

RunningFolder::RunningFolder(const FoldJob& job, const Tiling& tiling, Arena& arena)
    : tile_(job, tiling, arena),
      kernels_(running_kernels(job)),
      move_(tile_.axes().along.dilation * job.layout.lanes.n),
      column_bytes_((tiling.in_elems + tiling.after_elems + kRunningSlack) * job.plain.value_bytes),
      entering_(arena.take_array<const void*>(tile_.axes().across.kernel)),
      leaving_(arena.take_array<const void*>(tile_.axes().across.kernel)),
      columns_(arena.take(column_bytes_)) {
  if (!tile_.has_row_axis()) return;
  const index_t bytes = job.plain.value_bytes, zeros = (tiling.before_elems + move_) * bytes;
  sums_ = arena.take(zeros + column_bytes_) + zeros;
  std::memset(sums_ - zeros, 0, static_cast<std::size_t>(zeros));
  result_ = arena.take(tiling.before_elems * bytes + column_bytes_);
  if (tile_.axes().along.stride > 1) picked_ = arena.take(tiling.out_elems * bytes);
}

void RunningFolder::fold(const RowTask& task) {
  tile_.set(task.plane, task.tile);
  each_class(tile_.axes().across, task.rows, [&](index_t first) { fold_class(task.rows, first); });
}

// The rows that taps of an output read, those in padding left out.
index_t RunningFolder::gather(index_t output, Range taps, const void** rows) const {
  const Axis& axis = tile_.axes().across;
  const Range some = intersect(axis.taps(output), taps);
  for (index_t t = some.begin; t < some.end; ++t) rows[t - some.begin] = tile_.x(axis.at(output, t));
  return some.size();
}

void RunningFolder::fold_class(Range rows, index_t first) {
  const Axis& axis = tile_.axes().across;
  const index_t classes = axis.classes(), step = axis.class_step(), kernel = axis.kernel;
  const bool runs = 2 * step < kernel;  // else it is less work to begin anew
  RunningRows r{.entering = entering_, .leaving = leaving_, .n = tile_.tile().in_elems(), .columns = columns_};
  for (index_t o = first; o < rows.end; o += classes) {
    if (o == first || !runs) {
      std::memset(columns_, 0, static_cast<std::size_t>(column_bytes_));
      r.entering_count = gather(o, {0, kernel}, entering_);
    } else {
      r.entering_count = gather(o, {kernel - step, kernel}, entering_);
      r.leaving_count = gather(o - classes, {0, step}, leaving_);
    }
    kernels_.gain(r);
    finish(o);
  }
}

// A row of outputs from the sums of its columns.
void RunningFolder::finish(index_t output) {
  if (!tile_.has_row_axis()) return tile_.lower(columns_, output);
  const RowTile& tile = tile_.tile();
  const Axis& axis = tile.axis;
  RunningWindows w{.columns = columns_, .kernel = axis.kernel, .move = move_, .sums = sums_, .out = result_};
  w.n = tile.in_elems() + tile.after * tile.lanes;
  w.start = axis.start(0) * tile.lanes;
  w.windows = ((axis.out - 1) * axis.stride + 1) * tile.lanes;
  kernels_.slide(w);
  if (axis.stride == 1) return tile_.lower(result_, output);
  tile_.pick(result_, picked_);
  tile_.lower(picked_, output);
}

}  // namespace oriel::cpu
