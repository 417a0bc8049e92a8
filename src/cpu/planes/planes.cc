#include "cpu/planes/planes.h"

#include <cstring>

#include "cpu/element/sum_width.h"
#include "cpu/exact/mend.h"
#include "cpu/plan/tiling.h"
#include "cpu/plan/windows.h"
#include "cpu/planes/plane_kernels.h"
#include "cpu/planes/plane_taps.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/per_target.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {

const PlaneTable& plane_kernels() {
  static const PerTarget<PlaneTable> tables{&fill_plane_max, &fill_plane_min, &fill_plane_sum, &fill_plane_narrow};
  return tables.active();
}
namespace {

constexpr index_t kTileBytes =
    16 * 1024;  // of a folded row: 4096-wide planes in pieces of 8 KiB took 1.3 times as long
constexpr index_t kFoldedBytes = 4 * 1024;           // of the rows between the two folds
constexpr index_t kBandBytes = 64 * 1024;            // of inputs that are folded again when one of them is special
constexpr index_t kSlabBytes = 256 * 1024;           // of inputs that a window of slices of a volume reads
constexpr index_t kLongRow = 12 * 1024;              // bytes from memory; prefetches are in the hardware's way
constexpr index_t kMostWideTaps = index_t{1} << 20;  // of i32, whose sums f64 holds
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

PlaneKernel kernel_of(const Problem& problem) {
  const Pool& pool = problem.pool;
  const PlaneTable& k = plane_kernels();
  if (pool.op == Op::max) return k.max(problem.dtype);
  if (pool.op == Op::min) return k.min(problem.dtype);
  if (pool.op != Op::lp) {
    if (problem.dtype == Dtype::f32 || problem.dtype == Dtype::f64) return k.sum(Lift::none, problem.dtype);
    if (sums_in_16_bits(problem)) return k.bytes(problem.dtype);
    const bool wide = problem.dtype == Dtype::i32 && problem.taps() <= kMostWideTaps;
    return is_floating(problem.dtype) || wide || sums_narrowly(problem) ? k.narrow(problem.dtype) : PlaneKernel{};
  }
  if (pool.norm == 1) return k.sum(Lift::absolute, problem.dtype);
  return pool.norm == 2 ? k.sum(Lift::square, problem.dtype) : PlaneKernel{};
}

bool takes_axis(const Axis& axis, bool sums) {
  return !axis.adaptive && axis.spacing == 1 && axis.kernel <= kMaxFold && !(sums && has_empty_window(axis));
}

// What averages divide by.
class PlaneDivisors {
 public:
  PlaneDivisors(const Problem& problem, const PlaneKernel& kernel, const Tiling& tiling, Arena& arena)
      : problem_(problem),
        pool_(problem.pool),
        counts_(pool_.op == Op::avg && pool_.divisor == 0),
        kernel_(kernel),
        each_(arena.take((tiling.out_elems + kernel.vector) * std::max<index_t>(kernel.lane_bytes, sizeof(float)))) {}

  // Of an output of an axis across rows.
  index_t across(const Axis& axis, index_t o) const { return counts_ ? axis.divisor(o, pool_.count_include_pad) : 1; }
  void set_tile(const RowTile& tile) {
    if (!counts_) return;
    if (kernel_.lane_bytes == 8)
      count_along<double>(tile);
    else
      count_along<float>(tile);
  }
  // For rows of outputs that count `across` taps on the other axes.
  void set(PlaneBand& band, index_t across) const {
    if (pool_.op != Op::avg) return;
    const index_t all = pool_.divisor != 0 ? pool_.divisor : across * along_;
    if (all != 0) return band.divide_all(all, problem_.dtype);
    band.lower = PlaneLower::divide_each;
    band.divisor = static_cast<double>(across);
    band.divisor_each = each_;
  }

 private:
  template <class T>
  void count_along(const RowTile& tile);

  const Problem& problem_;
  const Pool& pool_;
  const bool counts_;
  const PlaneKernel& kernel_;
  index_t along_ = 1;  // 0: it changes along the row
  std::byte* const each_;
};

template <class T>
void PlaneDivisors::count_along(const RowTile& tile) {
  const Axis& axis = tile.axis;
  const Range full = axis.full();
  const auto divisor = [&](index_t o) {
    return full.contains(o) ? axis.kernel : axis.divisor(o, pool_.count_include_pad);
  };
  along_ = divisor(0);
  for (index_t o = 0; o < axis.out && along_ != 0; ++o) {
    if (divisor(o) != along_) along_ = 0;
    if (full.contains(o)) o = full.end - 1;
  }
  if (along_ != 0) return;  // rows of a million are many tiles without a border
  T* each = reinterpret_cast<T*>(each_);
  for (index_t o = 0; o < axis.out; ++o) std::fill_n(each + o * tile.lanes, tile.lanes, static_cast<T>(divisor(o)));
  // The last vector divides by what follows too: a subnormal number there would take it more than a hundred cycles.
  std::fill_n(each + axis.out * tile.lanes, kernel_.vector, T{1});
}

// Where x ends if its dimensions, in any order, make one run of memory; else null.
const std::byte* end_of_run(const FoldJob& job, index_t elem_bytes) {
  index_t count = 1, last = 0;
  bool ascends = true;
  const auto add = [&](index_t n, index_t pitch) {
    count *= n;
    last += (n - 1) * pitch;
    ascends = ascends && (n == 1 || pitch > 0);
  };
  for (const LoopDim& d : job.layout.planes) add(d.n, d.pitch[kX]);
  for (const PooledAxis& a : job.layout.axis) add(a.axis.in, a.pitch[kX]);
  add(job.layout.lanes.n, job.layout.lanes.pitch[kX]);
  return ascends && last + 1 == count ? static_cast<const std::byte*>(job.x) + count * elem_bytes : nullptr;
}

// One thread's folds of parts of planes.
class PlaneFolder {
 public:
  PlaneFolder(const FoldJob& job, const PlaneKernel& kernel, const Tiling& tiling, Arena& arena);

  // False when values were met that these kernels do not treat exactly. If it can mend, all is folded nevertheless.
  bool fold(index_t plane, index_t tile, Range rows);
  bool can_mend() const { return mends_; }

  // Cuts rows into parts of one slice each; of volumes so that the next slice finds its inputs in the second cache.
  template <class F>
  void each_part(Range rows, const F& f) const {
    const Axis& across = axes_.across;
    const index_t bytes = std::max<index_t>(1, across.stride * tiling_.in_elems * kernel_.in_bytes);
    const index_t fit = axes_.deep ? kSlabBytes / (axes_.depth.kernel * bytes) : kBandBytes / bytes;
    const index_t step = std::max<index_t>(8, fit);
    for (index_t begin = 0; begin < across.out; begin += step) {
      for (index_t slice = rows.begin / across.out; slice * across.out < rows.end; ++slice) {
        const index_t first = slice * across.out;
        const Range part = {std::max(rows.begin, first + begin),
                            std::min(rows.end, first + std::min(across.out, begin + step))};
        if (!part.empty()) f(part);
      }
    }
  }

 private:
  void make_band(Arena& arena);
  void set_tile(index_t number);
  void set_reading();
  void read(const std::byte* x, Range rows);

  const FoldJob& job_;
  const PlaneKernel& kernel_;
  const Tiling& tiling_;
  const bool mends_;
  const PlaneAxes axes_;
  PlaneDivisors divisors_;
  DepthRing ring_;
  BandTaps taps_;
  // x is far from the processor, and folds wait for it: those of bytes do not. What the third cache may hold of it
  // gains nothing by being read first.
  const bool far_, in_no_cache_;
  index_t read_rows_ = 0;  // of outputs, whose inputs are read before they are folded; 0: none are
  index_t read_end_ = 0;   // the input rows of a slice before this one have been
  const index_t before_;   // room for identities before a folded row, which then begins at a vector
  std::byte* folded_ = nullptr;
  PlaneBand band_;
  RowTile tile_;
  index_t tile_number_ = -1;
};

PlaneFolder::PlaneFolder(const FoldJob& job, const PlaneKernel& kernel, const Tiling& tiling, Arena& arena)
    : job_(job),
      kernel_(kernel),
      tiling_(tiling),
      mends_(mends(job) && job.layout.pooled() < 3),
      axes_(job.layout),
      divisors_(*job.problem, kernel, tiling, arena),
      ring_(axes_, kernel),
      taps_(axes_, kernel, ring_, arena),
      far_(kernel.in_bytes > 1 && element_count(job.problem->shape) * kernel.in_bytes >= far_bytes),
      in_no_cache_(far_ && element_count(job.problem->shape) * kernel.in_bytes >= 3 * far_bytes),
      before_((tiling.before_elems + kernel.vector - 1) / kernel.vector * kernel.vector) {
  if (axes_.deep || axes_.across.full().size() != axes_.across.out) {
    std::byte* absent = arena.take(tiling.in_elems * kernel.in_bytes);
    fill_copies(absent, kernel.absent.data(), kernel.in_bytes, tiling.in_elems);
    taps_.set_absent(absent);
    if (axes_.deep) ring_.make(tiling, absent, far_, arena);
  }
  make_band(arena);
}

void PlaneFolder::make_band(Arena& arena) {
  const index_t lanes = job_.layout.lanes.n;
  const index_t elems = before_ + std::max(tiling_.in_elems, tiling_.place_elems) + tiling_.after_elems;
  const Axis& along = job_.layout.axis[at(job_.layout.row_axis)].axis;
  band_.folded_pitch = (elems + kernel_.reach + 63) / 64 * 64;
  band_.batch = std::clamp<index_t>(kFoldedBytes / std::max<index_t>(1, elems * kernel_.lane_bytes), 1,
                                    std::min<index_t>(16, axes_.across.out));
  folded_ = arena.take(band_.batch * band_.folded_pitch * kernel_.lane_bytes + 64);
  band_.compact = arena.take((tiling_.out_elems + kernel_.vector) * kernel_.lane_bytes);
  std::byte* select = arena.take(kPlaneSelectBytes);
  if (along.stride > 1) kernel_.prepare(along.stride, lanes, select);
  band_.select = select;
  band_.infinity = kernel_.infinity;
  if (axes_.across.kernel == 1 && !axes_.deep) band_.x_end = end_of_run(job_, kernel_.in_bytes);
  band_.across = static_cast<int>(axes_.across.kernel);
  band_.ascends = axes_.across.stride == 1 && axes_.across.dilation == 1;
  band_.tap_pitch = along.dilation * lanes;
  band_.along = static_cast<int>(along.kernel);
  band_.stride = along.stride;
  band_.lanes = lanes;
  band_.y_pitch = axes_.across_pitch[kY];
  if (job_.problem->pool.op == Op::lp && job_.problem->pool.norm == 2) band_.lower = PlaneLower::root;
}

void PlaneFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  band_.in_elems = tile_.in_elems();
  band_.out_elems = tile_.out_elems();
  band_.folded = folded_ + before_ * kernel_.lane_bytes;
  band_.begin = tile_.axis.start(0) * tile_.lanes;
  set_reading();
  for (index_t r = 0; r < band_.batch; ++r) {
    std::byte* row = folded_ + r * band_.folded_pitch * kernel_.lane_bytes;
    const index_t pad = tile_.before * tile_.lanes;
    fill_copies(row + (before_ - pad) * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes, pad);
    fill_copies(row + (before_ + band_.in_elems) * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes,
                tile_.after * tile_.lanes);
  }
  divisors_.set_tile(tile_);
}

// How inputs come into the caches. Those of volumes are read by the ring.
void PlaneFolder::set_reading() {
  const index_t new_rows = axes_.deep ? 0 : std::min(axes_.across.stride, axes_.across.kernel);
  const index_t new_bytes = new_rows * band_.in_elems * kernel_.in_bytes;
  const index_t row = job_.layout.axis[at(job_.layout.row_axis)].axis.in * tile_.lanes;
  const bool whole = row - band_.in_elems < kLineBytes / kernel_.in_bytes;
  const bool dense = whole && axes_.across_pitch[kX] == row && axes_.across.stride == new_rows;
  const bool reads = in_no_cache_ && dense && new_bytes > 0 && new_bytes <= 2 * kReadBytes;
  const bool all = axes_.across.in * row * kernel_.in_bytes <= 2 * kReadBytes;
  read_rows_ = !reads ? 0 : all ? axes_.across.out : std::max<index_t>(1, kReadBytes / new_bytes);
  const bool hardware_follows = far_ && band_.in_elems * kernel_.in_bytes >= kLongRow;
  band_.ahead_bytes = reads || hardware_follows ? 0 : new_bytes;
}

// Reads the inputs of rows of outputs in the order of memory.
void PlaneFolder::read(const std::byte* x, Range rows) {
  const Range inputs = axes_.across.needs(rows);
  const index_t begin = std::max(inputs.begin, read_end_), pitch = axes_.across_pitch[kX];
  if (begin >= inputs.end) return;
  const index_t elems = (inputs.end - 1 - begin) * pitch + band_.in_elems;
  read_lines(x + begin * pitch * kernel_.in_bytes, elems * kernel_.in_bytes);
  read_end_ = inputs.end;
}

bool PlaneFolder::fold(index_t plane, index_t tile, Range rows) {
  set_tile(tile);
  const Axis& across = axes_.across;
  const index_t slice = rows.begin / across.out, first = slice * across.out;
  const auto* x = static_cast<const std::byte*>(job_.x) + tile_.offset(job_.layout, plane, kX) * kernel_.in_bytes;
  const index_t y = tile_.offset(job_.layout, plane, kY) + slice * axes_.depth_pitch[kY];
  const index_t depth_divisor = axes_.deep ? divisors_.across(axes_.depth, slice) : 1;
  const Range full = across.full();
  ring_.begin_slice();
  read_end_ = 0;
  bool special = false;
  for (index_t r = rows.begin - first; r < rows.end - first;) {
    const index_t divisor = divisors_.across(across, r);
    const Range some = {r, std::min(rows.end - first, r + ring_.rows_at_once())};
    const Range listed = taps_.list(x, some, [&](index_t row) {
      return (full.contains(row) && full.contains(row - 1)) || divisors_.across(across, row) == divisor;
    });
    if (axes_.deep && ring_.fold(x, slice, across.needs(listed), band_.in_elems)) return false;
    divisors_.set(band_, divisor * depth_divisor);
    const index_t parts = read_rows_ > 0 ? ceil_div(listed.size(), read_rows_) : 1,
                  step = ceil_div(listed.size(), parts);
    for (; r < listed.end; r += step) {
      const Range part = {r, std::min(listed.end, r + step)};
      band_.rows = part.size();
      band_.taps = taps_.taps() + (r - listed.begin) * axes_.across.kernel;
      band_.y = static_cast<std::byte*>(job_.y) + (y + r * axes_.across_pitch[kY]) * kernel_.in_bytes;
      if (read_rows_ > 0) read(x, part);
      special |= axes_.deep ? kernel_.fold_again(band_) : kernel_.fold(band_);
      if (special && !mends_) return false;
    }
    r = listed.end;
  }
  return !special;
}

// Planes of one row become rows of a plane, whose windows across are of one row: a call does many of them.
void stand_rows_below_each_other(RowLayout& layout) {
  if (layout.planes.empty()) return;
  LoopDim rows = layout.planes.back();
  layout.planes.pop_back();
  const auto goes_on = [&](const LoopDim& outer) {
    return outer.pitch[kX] == rows.n * rows.pitch[kX] && outer.pitch[kY] == rows.n * rows.pitch[kY];
  };
  for (; !layout.planes.empty() && goes_on(layout.planes.back()); layout.planes.pop_back()) {
    rows.n *= layout.planes.back().n;
  }
  const PooledAxis along = layout.axis[0];
  layout.axis = {};
  layout.axis.push_back({Axis::uniform(rows.n, 1, 1, 0, 0), {rows.pitch[kX], rows.pitch[kY], 0, 0}});
  layout.axis.push_back(along);
  layout.row_axis = 1;
}

void fold_tasks(const FoldJob& job, const PlaneKernel& kernel, const Tiling& tiling, index_t begin, index_t end) {
  Arena arena;
  PlaneFolder folder(job, kernel, tiling, arena);
  CarefulRows careful(job);
  for (index_t number = begin; number < end; ++number) {
    const RowTask task = tiling.task(number);
    folder.each_part(task.rows, [&](Range rows) {
      if (folder.fold(task.plane, task.tile, rows)) return;
      if (folder.can_mend() && careful.mend(task.plane, task.tile, tiling, rows)) return;
      careful.fold(task.plane, task.tile, tiling, rows);
    });
  }
}

}  // namespace

bool can_planes(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.row_axis < 0) return false;
  if (layout.pooled() > 3) return false;
  if (!layout.has_dense_rows(kX) || !layout.has_dense_rows(kY)) return false;
  const Pool& pool = job.problem->pool;
  const bool sums = pool.op != Op::max && pool.op != Op::min;
  if (pool.nan == NanPolicy::omit && is_floating(job.problem->dtype)) return false;
  if (sums && (layout.row_axis != layout.pooled() - 1 || !divides_in_vectors(pool))) return false;
  for (const PooledAxis& a : layout.axis) {
    if (!takes_axis(a.axis, sums)) return false;
  }
  return kernel_of(*job.problem).fold != nullptr;
}

bool planes_pay(const FoldJob& job) {
  constexpr index_t kManyLanes = 16;  // which fill vectors by themselves
  const RowLayout& layout = job.layout;
  if (layout.lanes.n >= kManyLanes) return false;
  const PlaneKernel kernel = kernel_of(*job.problem);
  const Axis& along = layout.axis[at(layout.row_axis)].axis;
  const bool beside = layout.lanes.n == 1 && along.dilation == 1;  // taps of a window
  const bool picks = along.stride > 1 && !(along.stride == 2 && beside);
  // Without masks and permutations of whole vectors, "rows" does better where rows are shorter than vectors. What a
  // stride leaves over must be dealt out into vectors, or lie in 16 bytes together: "rows" takes three times as long
  // then.
  constexpr index_t kAvx512Bytes = 64, kLanesOfRows = 8;  // which "rows" folds side by side
  const index_t lanes = layout.lanes.n, bytes = kernel.lane_bytes;
  const bool avx512 = kernel.vector * bytes == kAvx512Bytes;
  const bool patches = beside && along.stride == 8 && along.kernel == 8;
  const bool dealt = patches || (beside && (along.stride == 3 || along.stride == 4));
  const bool together = lanes < kLanesOfRows && positions_in_16_bytes(along.stride, lanes, bytes) * lanes > 1;
  if (picks && !dealt && !together && (!avx512 || bytes == 1)) return false;
  const index_t fewest = patches ? kernel.vector / 2 : kernel.vector;
  return avx512 || std::min(along.in, along.out) * layout.lanes.n >= fewest;
}

void run_planes(const FoldJob& given, int threads) {
  FoldJob job = given;
  const auto cut = [&] { return Tiling(job.layout, job.plain, threads > 0 ? threads : default_threads(), kTileBytes); };
  Tiling tiling = cut();
  if (job.layout.pooled() == 1 && tiling.tiles == 1) {
    stand_rows_below_each_other(job.layout);
    tiling = cut();
  }
  const PlaneKernel kernel = kernel_of(*job.problem);
  parallel_for(tiling.task_count(), tiling.task_bytes, threads,
               [&](index_t begin, index_t end) { fold_tasks(job, kernel, tiling, begin, end); });
}

}  // namespace oriel::cpu
