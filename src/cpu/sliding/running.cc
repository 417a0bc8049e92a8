#include "cpu/sliding/running.h"

#include <algorithm>
#include <cstring>

#include "cpu/plan/counts.h"
#include "cpu/recipe/kernels.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/strided_copy.h"
#include "cpu/sliding/running_kernels.h"
#include "cpu/sliding/sliding_folder.h"

namespace oriel::cpu {
namespace {

constexpr index_t kColumnBytes = 16 * 1024;  // of a tile's row: columns, their sums and results stay in the first cache

RunningKernels running_kernels(const FoldJob& job) {
  return running_table().sums(job.problem->dtype, job.plain.value_bytes);
}

class RunningFolder {
 public:
  RunningFolder(const FoldJob& job, const Tiling& tiling, Arena& arena);

  void fold(index_t plane, index_t tile, Range rows);

 private:
  void set_tile(index_t number);
  void fold_class(Range rows, index_t first);
  index_t gather(index_t output, Range taps, const void** rows) const;
  void finish(index_t output);

  const FoldJob& job_;
  const RowReduction& how_;
  const Tiling& tiling_;
  const StridedCopy copy_ = strided_copy();
  const LongAxes axes_;
  const RunningKernels kernels_;
  const index_t move_;          // elements from one tap along the row to the next
  const index_t columns_room_;  // accumulators of all places
  const void** entering_;
  const void** leaving_;
  std::byte* columns_;
  std::byte* sums_ = nullptr;
  std::byte* result_ = nullptr;
  std::byte* picked_ = nullptr;
  RowRun* runs_;
  RowCounts counts_;

  RowTile tile_;
  index_t tile_number_ = -1;
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
};

RunningFolder::RunningFolder(const FoldJob& job, const Tiling& tiling, Arena& arena)
    : job_(job),
      how_(job.plain),
      tiling_(tiling),
      axes_(job.layout),
      kernels_(running_kernels(job)),
      move_(axes_.along.dilation * job.layout.lanes.n),
      columns_room_(tiling.in_elems + tiling.after_elems + kRunningSlack),
      entering_(arena.take_array<const void*>(axes_.across.kernel)),
      leaving_(arena.take_array<const void*>(axes_.across.kernel)),
      columns_(arena.take(columns_room_ * how_.value_bytes)),
      runs_(arena.take_array<RowRun>(tiling.out_elems)) {
  if (job.layout.row_axis < 0) return;
  const index_t bytes = how_.value_bytes, zeros = (tiling.before_elems + move_) * bytes;
  sums_ = arena.take(zeros + columns_room_ * bytes) + zeros;
  std::memset(sums_ - zeros, 0, static_cast<std::size_t>(zeros));
  result_ = arena.take((tiling.before_elems + columns_room_) * bytes);
  if (axes_.along.stride > 1) picked_ = arena.take(tiling.out_elems * bytes);
}

void RunningFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  if (how_.counts) counts_.count(tile_.axis, how_, RunTaps::most, runs_);
}

void RunningFolder::fold(index_t plane, index_t tile, Range rows) {
  set_tile(tile);
  x_ = static_cast<const std::byte*>(job_.x) + tile_.offset(job_.layout, plane, kX) * how_.in_bytes;
  y_ = static_cast<std::byte*>(job_.y) + tile_.offset(job_.layout, plane, kY) * how_.out_bytes;
  for (index_t c = 0; c < axes_.across.classes() && rows.begin + c < rows.end; ++c) fold_class(rows, rows.begin + c);
}

// The rows that taps of an output read, those in padding left out.
index_t RunningFolder::gather(index_t output, Range taps, const void** rows) const {
  const Axis& axis = axes_.across;
  const index_t pitch = axes_.across_pitch[kX] * how_.in_bytes;
  const Range some = intersect(axis.taps(output), taps);
  for (index_t t = some.begin; t < some.end; ++t) rows[t - some.begin] = x_ + axis.at(output, t) * pitch;
  return std::max<index_t>(0, some.size());
}

// The outputs first, first + classes, … of a band, whose windows share taps.
void RunningFolder::fold_class(Range rows, index_t first) {
  const Axis& axis = axes_.across;
  const index_t classes = axis.classes(), step = axis.class_step(), kernel = axis.kernel;
  const bool runs = 2 * step < kernel;  // else it is less work to begin anew
  RunningRows r{.entering = entering_, .leaving = leaving_, .n = tile_.in_elems(), .columns = columns_};
  for (index_t o = first; o < rows.end; o += classes) {
    if (o == first || !runs) {
      std::memset(columns_, 0, static_cast<std::size_t>(columns_room_ * how_.value_bytes));
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
  const Axis& axis = tile_.axis;
  const index_t lanes = tile_.lanes, bytes = how_.value_bytes;
  const std::byte* sums = columns_;
  if (job_.layout.row_axis >= 0) {
    RunningWindows w{.columns = columns_, .kernel = axis.kernel, .move = move_, .sums = sums_, .out = result_};
    w.n = tile_.in_elems() + tile_.after * lanes;
    w.start = axis.start(0) * lanes;
    w.windows = ((axis.out - 1) * axis.stride + 1) * lanes;
    kernels_.slide(w);
    sums = result_;
    if (axis.stride > 1) {
      copy_(result_, axis.stride, axis.out, lanes * bytes, picked_);
      sums = picked_;
    }
  }
  const index_t pitch = job_.layout.row_axis >= 0 ? axes_.along_pitch[kY] : lanes;
  how_.lower({sums, nullptr, 0}, axis.out, lanes, counts_.params(how_, axes_.across, output),
             y_ + output * axes_.across_pitch[kY] * how_.out_bytes, pitch, job_.layout.lanes.pitch[kY]);
}

bool is_plain(const Axis& axis) { return !axis.adaptive && axis.spacing == 1; }
bool is_long(const Axis& axis) { return axis.kernel > kMaxFold && axis.stride < axis.kernel; }

}  // namespace

bool can_running(const FoldJob& job) {
  if (job.problem == nullptr || job.index != nullptr) return false;
  const Op op = job.problem->pool.op;
  const RowLayout& layout = job.layout;
  if ((op != Op::sum && op != Op::avg) || is_floating(job.problem->dtype)) return false;
  if (layout.pooled() > 2 || (layout.pooled() == 2 && layout.row_axis < 0)) return false;
  const LongAxes axes(layout);
  if (!is_plain(axes.across) || !is_plain(axes.along)) return false;
  if (layout.lanes.n > 1 && layout.lanes.pitch[kX] != 1) return false;
  if (layout.row_axis >= 0 && axes.along.in > 1 && axes.along_pitch[kX] != layout.lanes.n) return false;
  return running_kernels(job).gain != nullptr;
}

bool running_pays(const FoldJob& job) {
  const LongAxes axes(job.layout);
  return is_long(axes.across) || is_long(axes.along);
}

void run_running(const FoldJob& job, int threads) {
  const LongAxes axes(job.layout);
  const int most = threads > 0 ? threads : default_threads();
  const index_t halo = (axes.along.extent() - 1) * job.layout.lanes.n * job.plain.value_bytes;
  Tiling tiling(job.layout, job.plain, most, std::clamp(4 * halo, kColumnBytes, 8 * kRowBytes));
  tiling.keep_windows(job.layout.plane_count(), axes.across.kernel, most);
  parallel_for(tiling.task_count(), tiling.task_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    RunningFolder folder(job, tiling, arena);
    for (index_t number = begin; number < end; ++number) {
      const auto [plane, tile, rows] = tiling.task(number);
      folder.fold(plane, tile, rows);
    }
  });
}

}  // namespace oriel::cpu
