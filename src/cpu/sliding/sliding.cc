#include "cpu/sliding/sliding.h"

#include <algorithm>

#include "cpu/recipe/recipe.h"
#include "cpu/sliding/running_folder.h"
#include "cpu/sliding/sliding_folder.h"

namespace oriel::cpu {
namespace {

constexpr index_t kWarmBytes = 2048 * 1024;    // the rows of a block and what becomes of them: measured best
constexpr index_t kLeastRowBytes = 8 * 1024;   // narrower tiles read their borders too often: 129x129 took 1.4x
constexpr index_t kAlongRowBytes = 16 * 1024;  // without windows across, only a few rows are kept
constexpr index_t kInPlaceBytes = 64 * 1024;   // where rows are not copied: only their halves are kept
constexpr index_t kColumnBytes = 16 * 1024;  // of running sums: columns, their sums and results stay in the first cache

// Whether windows slide along at most one axis across rows, and along rows, all of them alike.
bool slides_along_rows(const RowLayout& layout) {
  if (layout.pooled() > 2 || (layout.pooled() == 2 && layout.row_axis < 0)) return false;
  return std::all_of(layout.axis.begin(), layout.axis.end(),
                     [](const PooledAxis& a) { return !a.axis.adaptive && a.axis.spacing == 1; });
}

bool some_are_long(const RowLayout& layout) {
  return std::any_of(layout.axis.begin(), layout.axis.end(),
                     [](const PooledAxis& a) { return a.axis.kernel > kMaxFold && a.axis.stride < a.axis.kernel; });
}

index_t wanted_row_bytes(const FoldJob& job, const LongAxes& axes) {
  if (axes.across.kernel > 1) return kWarmBytes / (3 * axes.across.kernel);
  const bool padded =
      axes.along.start(0) < 0 || axes.along.at(axes.along.out - 1, axes.along.kernel - 1) >= axes.along.in;
  return folds_in_place(job, axes) && !padded ? kInPlaceBytes : kAlongRowBytes;  // short ends, as those are copied
}

// With tiles whose rows are several times as long as what windows look at beyond their ends.
template <class Folder>
void fold(const FoldJob& job, const LongAxes& axes, index_t row_bytes, index_t least, int threads) {
  const int most = threads > 0 ? threads : default_threads();
  const index_t halo = (axes.along.extent() - 1) * job.layout.lanes.n * job.plain.value_bytes;
  Tiling tiling(job.layout, job.plain, most, std::clamp(std::max(row_bytes, 4 * halo), least, 8 * kRowBytes));
  tiling.keep_windows(job.layout.plane_count(), axes.across.kernel, most);
  fold_tasks<Folder>(job, tiling, threads);
}

}  // namespace

bool can_long(const FoldJob& job) {
  if (job.problem == nullptr || job.index != nullptr) return false;
  const Pool& pool = job.problem->pool;
  if (pool.op == Op::lp || pool.nan == NanPolicy::omit || !slides_along_rows(job.layout)) return false;
  const bool sum = !job.plain.any_order;
  const LongAxes axes(job.layout);
  if (sum && axes.across_number > job.layout.row_axis && job.layout.row_axis >= 0) return false;  // S8: along first
  if (sum && axes.across.kernel >= index_t{2} << kMostSumLevels) return false;
  return long_kernels(*job.problem, job.plain).across != nullptr;
}

bool long_pays(const FoldJob& job) { return some_are_long(job.layout); }

void run_long(const FoldJob& job, int threads) {
  const LongAxes axes(job.layout);
  fold<LongFolder>(job, axes, wanted_row_bytes(job, axes), kLeastRowBytes, threads);
}

bool can_running(const FoldJob& job) {
  if (job.problem == nullptr || job.index != nullptr || is_floating(job.problem->dtype)) return false;
  const Op op = job.problem->pool.op;
  return (op == Op::sum || op == Op::avg) && slides_along_rows(job.layout) && job.layout.has_dense_rows(kX) &&
         running_kernels(job).gain != nullptr;
}

bool running_pays(const FoldJob& job) { return some_are_long(job.layout); }

void run_running(const FoldJob& job, int threads) {
  fold<RunningFolder>(job, LongAxes(job.layout), kColumnBytes, kColumnBytes, threads);
}

}  // namespace oriel::cpu
