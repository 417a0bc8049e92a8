#include "cpu/channels/channels.h"

#include <algorithm>

#include "cpu/channels/channel_folder.h"
#include "cpu/channels/register_rows.h"
#include "cpu/exact/mend.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

// The window sizes and steps that this way is quick with.
bool pays_along(const Axis& axis, bool along) {
  if (axis.adaptive) return true;
  if (along && axis.stride > axis.extent()) return false;  // accumulators would be made that nobody reads
  return axis.kernel <= kMaxFold || axis.stride >= axis.kernel;
}

// Carries out the tasks [begin, end) with a folder of this kind.
template <class Folder>
void fold_tasks(const FoldJob& job, const Tiling& tiling, Folder& folder, index_t begin, index_t end) {
  CarefulRows careful(job);
  for (index_t number = begin; number < end; ++number) {
    const RowTask task = tiling.task(number);
    if (folder.fold(task) || (mends(job) && careful.mend(task.plane, task.tile, tiling, task.rows))) continue;
    careful.fold(task.plane, task.tile, tiling, task.rows);
  }
}

}  // namespace

bool can_columns(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr) return false;
  if (layout.lanes.n < kFewestStepLanes || layout.lanes.pitch[kX] != 1 || layout.lanes.pitch[kY] != 1) return false;
  const int along = axis_along(layout);
  if (layout.pooled() - (along >= 0 ? 1 : 0) > kMostAcross) return false;
  if (!job.plain.any_order && along >= 0 && along != layout.pooled() - 1) return false;  // S8
  if (std::any_of(layout.axis.begin(), layout.axis.end(), [](const PooledAxis& a) { return a.axis.spacing != 1; }))
    return false;
  return element_kernels(*job.problem, job.plain).fold_elements != nullptr;
}

bool columns_pay(const FoldJob& job) {
  const int along = axis_along(job.layout);
  for (int a = 0; a < job.layout.pooled(); ++a) {
    if (!pays_along(job.layout.axis[static_cast<std::size_t>(a)].axis, a == along)) return false;
  }
  return true;
}

void run_columns(const FoldJob& job, int threads) {
  const Tiling tiling(job.layout, job.plain, threads > 0 ? threads : default_threads());
  const LaneRowKernel kernel = lane_rows_of(job);
  const bool in_registers = kernel.fold != nullptr && tiling.tile(tiling.tiles - 1).lanes >= kernel.fewest_lanes;
  parallel_for(tiling.task_count(), tiling.task_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    const ChannelAxes axes(job, tiling);
    if (in_registers) {
      RegisterRows folder(axes, kernel, tiling, arena);
      return fold_tasks(job, tiling, folder, begin, end);
    }
    ChannelFolder folder(axes, tiling, arena);
    fold_tasks(job, tiling, folder, begin, end);
  });
}

}  // namespace oriel::cpu
