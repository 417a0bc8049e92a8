#include "cpu/planes/planes.h"

#include <cstring>

#include "cpu/element/sum_width.h"
#include "cpu/exact/mend.h"
#include "cpu/plan/tiling.h"
#include "cpu/plan/windows.h"
#include "cpu/planes/plane_kernels.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/per_target.h"

namespace oriel::cpu {

const PlaneTable& plane_kernels() {
  static const PerTarget<PlaneTable> tables{&fill_plane_max, &fill_plane_min, &fill_plane_sum, &fill_plane_narrow};
  return tables.active();
}
namespace {

constexpr index_t kTileBytes = 8 * 1024;    // of a folded row: a window of rows stays in the first cache
constexpr index_t kFoldedBytes = 4 * 1024;  // of the rows between the two folds
constexpr index_t kBandBytes = 64 * 1024;   // of inputs that are folded again when one of them is special
constexpr index_t kMostBandRows = 64;
constexpr index_t kRingBytes = 32 * 1024;            // of rows that are folded along the first of two axes across them
constexpr index_t kSlabBytes = 256 * 1024;           // of inputs that a window of slices of a volume reads
constexpr index_t kMostWideTaps = index_t{1} << 20;  // of i32, whose sums f64 holds
constexpr index_t kAbsentOffset = lowest_value<index_t>();
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

// The windows of a job across its rows.
struct PlaneAxes {
  explicit PlaneAxes(const RowLayout& layout);

  Axis across = Axis::uniform(1, 1, 1, 0, 0);  // a lone row, when only the row axis is pooled
  Pitches across_pitch{};
  Axis depth;  // of volumes: folded before `across`
  Pitches depth_pitch{};
  bool deep = false;
};

PlaneAxes::PlaneAxes(const RowLayout& layout) {
  for (int a = 0; a < layout.pooled(); ++a) {
    if (a == layout.row_axis) continue;
    if (layout.pooled() == 3 && !deep) {
      deep = true;
      depth = layout.axis[at(a)].axis;
      depth_pitch = layout.axis[at(a)].pitch;
      continue;
    }
    across = layout.axis[at(a)].axis;
    across_pitch = layout.axis[at(a)].pitch;
  }
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

// Of volumes: rows that are folded along the depth, in a ring by number, so that windows across find them again.
class DepthRing {
 public:
  DepthRing(const PlaneAxes& axes, const PlaneKernel& kernel) : axes_(axes), kernel_(kernel) {}
  void make(const Tiling& tiling, const std::byte* absent, Arena& arena);

  // Rows of outputs whose taps fit the ring together.
  index_t rows_at_once() const { return chunk_; }
  void begin_slice() { end_ = 0; }
  // Folds the rows of a slice of outputs that are not there yet; `elems` of each. True when a special value was met.
  bool fold(const std::byte* x, index_t slice, Range rows, index_t elems);
  // Where a row is; -1: one that changes nothing.
  const std::byte* row(index_t number) const {
    return rows_ + (number < 0 ? count_ : number % count_) * band_.folded_pitch * kernel_.lane_bytes;
  }

 private:
  const PlaneAxes& axes_;
  const PlaneKernel& kernel_;
  PlaneBand band_;
  const std::byte* absent_ = nullptr;  // a row of elements that change nothing
  const void** taps_ = nullptr;
  std::byte* rows_ = nullptr;
  index_t count_ = 0;
  index_t end_ = 0;  // rows before it are there
  index_t chunk_ = kMostBandRows;
};

void DepthRing::make(const Tiling& tiling, const std::byte* absent, Arena& arena) {
  const Axis& across = axes_.across;
  const index_t pitch = tiling.in_elems / kernel_.vector * kernel_.vector + kernel_.vector;
  const index_t fit = kRingBytes / (pitch * kernel_.lane_bytes);
  chunk_ = std::clamp<index_t>((fit - across.extent()) / across.stride + 1, 1, kMostBandRows);
  count_ = std::max<index_t>(1, std::min(across.in, (chunk_ - 1) * across.stride + across.extent()));
  rows_ = arena.take((count_ + 1) * pitch * kernel_.lane_bytes);
  fill_copies(rows_ + count_ * pitch * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes, pitch);
  absent_ = absent;
  taps_ = arena.take_array<const void*>(kMostBandRows * axes_.depth.kernel);
  band_.infinity = kernel_.infinity;
  band_.taps = taps_;
  band_.across = static_cast<int>(axes_.depth.kernel);
  band_.ahead_taps = static_cast<int>(std::min(axes_.depth.stride, axes_.depth.kernel));
  band_.folded_pitch = pitch;
}

bool DepthRing::fold(const std::byte* x, index_t slice, Range rows, index_t elems) {
  const Axis& depth = axes_.depth;
  band_.in_elems = elems;
  band_.ahead_bytes = elems * kernel_.in_bytes;
  bool special = false;
  for (index_t r = std::max(end_, rows.begin); r < rows.end;) {
    const index_t slot = r % count_, count = std::min({rows.end - r, count_ - slot, kMostBandRows});
    for (index_t t = 0; t < depth.kernel; ++t) {
      const index_t input = depth.input_at(depth.at(slice, t));
      const index_t pitch = input < 0 ? 0 : axes_.across_pitch[kX] * kernel_.in_bytes;
      const std::byte* row = input < 0 ? absent_ : x + input * axes_.depth_pitch[kX] * kernel_.in_bytes + r * pitch;
      for (index_t i = 0; i < count; ++i) taps_[i * depth.kernel + t] = row + i * pitch;
    }
    band_.rows = count;
    band_.folded = rows_ + slot * band_.folded_pitch * kernel_.lane_bytes;
    special |= kernel_.fold_across(band_);
    r += count;
  }
  end_ = std::max(end_, rows.end);
  return special;
}

// The rows that the windows across of a band read: of x, or of volumes those in the ring.
class BandTaps {
 public:
  BandTaps(const PlaneAxes& axes, const PlaneKernel& kernel, const DepthRing& ring, Arena& arena)
      : axes_(axes),
        kernel_(kernel),
        ring_(ring),
        taps_(arena.take_array<const void*>(kMostBandRows * axes.across.kernel)),
        offset_(arena.take_array<index_t>(kMostBandRows * axes.across.kernel)) {}
  void set_absent(const std::byte* row) { absent_ = row; }

  // Lists the rows of outputs from rows.begin on that count alike, none from rows.end on. Returns which they are.
  // goes_on(r) tells whether row r counts like the first.
  template <class GoesOn>
  Range list(const std::byte* x, Range rows, const GoesOn& goes_on) {
    if (listed_.begin == rows.begin && most_ == rows.end) {
      move(x);
      return listed_;
    }
    listed_ = {rows.begin, rows.begin};
    most_ = rows.end;
    do {
      add(x, listed_.end++);
    } while (listed_.end < rows.end && goes_on(listed_.end));
    return listed_;
  }
  const void* const* taps() const { return taps_; }

 private:
  void add(const std::byte* x, index_t row) {
    const Axis& axis = axes_.across;
    const index_t pitch = axes_.across_pitch[kX] * kernel_.in_bytes, start = axis.start(row);
    const index_t kernel = axis.kernel, dilation = axis.dilation;
    const bool deep = axes_.deep;
    const void** taps = taps_ + (row - listed_.begin) * kernel;
    index_t* offsets = offset_ + (row - listed_.begin) * kernel;
    const std::byte* const absent = absent_;
    for (index_t t = 0; t < kernel; ++t) {
      const index_t input = axis.input_at(start + t * dilation);
      taps[t] = input < 0 ? absent : x + input * pitch;
      offsets[t] = input < 0 ? kAbsentOffset : input * pitch;
      if (deep) taps[t] = ring_.row(input);
    }
  }
  // The same rows of another plane, or of another tile.
  void move(const std::byte* x) {
    if (axes_.deep) return;  // they stand in the ring
    const index_t taps = listed_.size() * axes_.across.kernel;
    for (index_t i = 0; i < taps; ++i) taps_[i] = offset_[i] == kAbsentOffset ? absent_ : x + offset_[i];
  }

  const PlaneAxes& axes_;
  const PlaneKernel& kernel_;
  const DepthRing& ring_;
  const std::byte* absent_ = nullptr;  // a row of elements that change nothing
  const void** const taps_;
  index_t* const offset_;    // of every tap, from the beginning of a plane
  Range listed_ = {-1, -1};  // the rows whose taps are there
  index_t most_ = -1;        // where they might have ended
};

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

  const FoldJob& job_;
  const PlaneKernel& kernel_;
  const Tiling& tiling_;
  const bool mends_;
  const PlaneAxes axes_;
  PlaneDivisors divisors_;
  DepthRing ring_;
  BandTaps taps_;
  const index_t before_;  // room for identities before a folded row, which then begins at a vector
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
      before_((tiling.before_elems + kernel.vector - 1) / kernel.vector * kernel.vector) {
  if (axes_.deep || axes_.across.full().size() != axes_.across.out) {
    std::byte* absent = arena.take(tiling.in_elems * kernel.in_bytes);
    fill_copies(absent, kernel.absent.data(), kernel.in_bytes, tiling.in_elems);
    taps_.set_absent(absent);
    if (axes_.deep) ring_.make(tiling, absent, arena);
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
  band_.taps = taps_.taps();
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
  const index_t new_rows = axes_.deep ? 0 : std::min(axes_.across.stride, axes_.across.kernel);
  band_.ahead_bytes = new_rows * band_.in_elems * kernel_.in_bytes;
  for (index_t r = 0; r < band_.batch; ++r) {
    std::byte* row = folded_ + r * band_.folded_pitch * kernel_.lane_bytes;
    const index_t pad = tile_.before * tile_.lanes;
    fill_copies(row + (before_ - pad) * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes, pad);
    fill_copies(row + (before_ + band_.in_elems) * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes,
                tile_.after * tile_.lanes);
  }
  divisors_.set_tile(tile_);
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
  bool special = false;
  for (index_t r = rows.begin - first; r < rows.end - first;) {
    const index_t divisor = divisors_.across(across, r);
    const Range some = {r, std::min(rows.end - first, r + ring_.rows_at_once())};
    const Range listed = taps_.list(x, some, [&](index_t row) {
      return (full.contains(row) && full.contains(row - 1)) || divisors_.across(across, row) == divisor;
    });
    if (axes_.deep && ring_.fold(x, slice, across.needs(listed), band_.in_elems)) return false;
    band_.rows = listed.size();
    band_.y = static_cast<std::byte*>(job_.y) + (y + r * axes_.across_pitch[kY]) * kernel_.in_bytes;
    divisors_.set(band_, divisor * depth_divisor);
    special |= axes_.deep ? kernel_.fold_again(band_) : kernel_.fold(band_);
    if (special && !mends_) return false;
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
  // Without masks and permutations of whole vectors, "rows" does better where rows are shorter than vectors, or where a
  // stride leaves elements over; but steps of 3 and 4, and patches of 8, are dealt out into vectors in a third of the
  // time of "rows".
  constexpr index_t kAvx512Bytes = 64;
  const bool avx512 = kernel.vector * kernel.lane_bytes == kAvx512Bytes;
  const bool dealt = beside && (along.stride == 3 || along.stride == 4 || (along.stride == 8 && along.kernel == 8));
  if (picks && !dealt && (kernel.lane_bytes == 1 || !avx512)) return false;
  return avx512 || std::min(along.in, along.out) * layout.lanes.n >= kernel.vector;
}

void run_planes(const FoldJob& given, int threads) {
  FoldJob job = given;
  if (job.layout.pooled() == 1) stand_rows_below_each_other(job.layout);
  const Tiling tiling(job.layout, job.plain, threads > 0 ? threads : default_threads(), kTileBytes);
  const PlaneKernel kernel = kernel_of(*job.problem);
  parallel_for(tiling.task_count(), tiling.task_bytes, threads,
               [&](index_t begin, index_t end) { fold_tasks(job, kernel, tiling, begin, end); });
}

}  // namespace oriel::cpu
