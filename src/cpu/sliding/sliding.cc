#include "cpu/sliding/sliding.h"

#include <algorithm>

#include "cpu/recipe/kernels.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/parallel.h"
#include "cpu/sliding/sliding_folder.h"

namespace oriel::cpu {
namespace {

constexpr index_t kWarmBytes = 2048 * 1024;    // the rows of a block and what becomes of them: measured best
constexpr index_t kLeastRowBytes = 8 * 1024;   // narrower tiles read their borders too often: 129x129 took 1.4x
constexpr index_t kAlongRowBytes = 16 * 1024;  // without windows across, only a few rows are kept
constexpr index_t kInPlaceBytes = 64 * 1024;   // where rows are not copied: only their halves are kept

bool is_plain(const Axis& axis) { return !axis.adaptive && axis.spacing == 1; }
bool is_long(const Axis& axis) { return axis.kernel > kMaxFold && axis.stride < axis.kernel; }

index_t wanted_row_bytes(const FoldJob& job, const LongAxes& axes) {
  if (axes.across.kernel > 1) return kWarmBytes / (3 * axes.across.kernel);
  const bool padded =
      axes.along.start(0) < 0 || axes.along.at(axes.along.out - 1, axes.along.kernel - 1) >= axes.along.in;
  return folds_in_place(job, axes) && !padded ? kInPlaceBytes : kAlongRowBytes;  // short ends, as those are copied
}

}  // namespace

bool can_long(const FoldJob& job) {
  if (job.problem == nullptr || job.index != nullptr) return false;
  const Pool& pool = job.problem->pool;
  if (pool.op == Op::lp || pool.nan == NanPolicy::omit) return false;
  const RowLayout& layout = job.layout;
  if (layout.pooled() > 2 || (layout.pooled() == 2 && layout.row_axis < 0)) return false;
  for (const PooledAxis& a : layout.axis) {
    if (!is_plain(a.axis)) return false;
  }
  const bool sum = !job.plain.any_order;
  const LongAxes axes(layout);
  if (sum && axes.across_number > layout.row_axis && layout.row_axis >= 0) return false;  // S8: along the row first
  if (sum && axes.across.kernel >= index_t{2} << kMostSumLevels) return false;
  return long_kernels(*job.problem, job.plain).across != nullptr;
}

bool long_pays(const FoldJob& job) {
  return std::any_of(job.layout.axis.begin(), job.layout.axis.end(),
                     [](const PooledAxis& a) { return is_long(a.axis); });
}

void run_long(const FoldJob& job, int threads) {
  const LongAxes axes(job.layout);
  const int most = threads > 0 ? threads : default_threads();
  const index_t halo = (axes.along.extent() - 1) * job.layout.lanes.n * job.plain.value_bytes;
  const index_t row_bytes = std::clamp(std::max(wanted_row_bytes(job, axes), 4 * halo), kLeastRowBytes, 8 * kRowBytes);
  Tiling tiling(job.layout, job.plain, most, row_bytes);
  tiling.keep_windows(job.layout.plane_count(), axes.across.kernel, most);
  parallel_for(tiling.task_count(), tiling.task_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    LongFolder folder(job, tiling, arena);
    CarefulRows careful(job);
    for (index_t number = begin; number < end; ++number) {
      const auto [plane, tile, rows] = tiling.task(number);
      folder.fold(plane, tile, rows, careful);
    }
  });
}

}  // namespace oriel::cpu
