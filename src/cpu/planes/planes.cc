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

bool dense_rows(const RowLayout& layout) {
  const LoopDim& lanes = layout.lanes;
  const PooledAxis& row = layout.axis[at(layout.row_axis)];
  return (lanes.n == 1 || (lanes.pitch[kX] == 1 && lanes.pitch[kY] == 1)) &&
         (row.axis.in == 1 || row.pitch[kX] == lanes.n) && (row.axis.out == 1 || row.pitch[kY] == lanes.n);
}

// One thread's folds of parts of planes.
class PlaneFolder {
 public:
  PlaneFolder(const FoldJob& job, const PlaneKernel& kernel, const Tiling& tiling, Arena& arena);

  /// False when values were met that these kernels do not treat exactly. If it can mend, all is folded nevertheless.
  bool fold(index_t plane, index_t tile, Range rows);
  bool can_mend() const { return mends_; }

  /// Cuts rows into parts of one slice each; of volumes so that the next slice finds its inputs in the second cache.
  template <class F>
  void each_part(Range rows, const F& f) const {
    const index_t bytes = std::max<index_t>(1, across_.stride * tiling_.in_elems * kernel_.in_bytes);
    const index_t fit = deep_ ? kSlabBytes / (depth_.kernel * bytes) : kBandBytes / bytes;
    const index_t step = std::max<index_t>(8, fit);
    for (index_t begin = 0; begin < across_.out; begin += step) {
      for (index_t slice = rows.begin / across_.out; slice * across_.out < rows.end; ++slice) {
        const index_t first = slice * across_.out;
        const Range part = {std::max(rows.begin, first + begin),
                            std::min(rows.end, first + std::min(across_.out, begin + step))};
        if (!part.empty()) f(part);
      }
    }
  }

 private:
  void set_tile(index_t number);
  void count_along();
  void make_ring(Arena& arena);
  void list_taps(const std::byte* x, index_t row);
  void move_taps(const std::byte* x);
  bool fold_depth(const std::byte* x, index_t slice, Range rows);
  void set_divisor(index_t across);
  index_t divisor_of(const Axis& axis, index_t o) const {
    return averages_ && pool_.divisor == 0 ? axis.divisor(o, pool_.count_include_pad) : 1;
  }
  template <class T>
  void set_divisors();

  const FoldJob& job_;
  const PlaneKernel& kernel_;
  const Tiling& tiling_;
  const Pool& pool_;
  const bool averages_;
  const bool mends_;
  Axis across_ = Axis::uniform(1, 1, 1, 0, 0);  // a lone row, when only the row axis is pooled
  Pitches across_pitch_{};
  Axis depth_;  // of volumes: folded before across_
  Pitches depth_pitch_{};
  bool deep_ = false;
  PlaneBand band_;
  RowTile tile_;
  index_t tile_number_ = -1;
  index_t before_ = 0;         // of identities before a folded row
  index_t along_divisor_ = 1;  // 0: it changes along the row
  const void** taps_;
  index_t* offset_;           // of every tap, from the beginning of a plane
  Range listed_ = {-1, -1};   // the rows whose taps are there
  index_t listed_most_ = -1;  // and where they might have ended
  std::byte* absent_;
  // Of volumes: rows that are folded along depth_, by number.
  PlaneBand deep_band_;
  const void** deep_taps_ = nullptr;
  std::byte* ring_ = nullptr;
  index_t ring_rows_ = 0;
  index_t ring_end_ = 0;  // rows before it are there
  index_t chunk_ = kMostBandRows;
  std::byte* folded_;
  std::byte* divisor_each_;
};

PlaneFolder::PlaneFolder(const FoldJob& job, const PlaneKernel& kernel, const Tiling& tiling, Arena& arena)
    : job_(job),
      kernel_(kernel),
      tiling_(tiling),
      pool_(job.problem->pool),
      averages_(pool_.op == Op::avg),
      mends_(mends(job) && job.layout.pooled() < 3) {
  for (int a = 0; a < job.layout.pooled(); ++a) {
    if (a == job.layout.row_axis) continue;
    if (job.layout.pooled() == 3 && !deep_) {
      deep_ = true;
      depth_ = job.layout.axis[at(a)].axis;
      depth_pitch_ = job.layout.axis[at(a)].pitch;
      continue;
    }
    across_ = job.layout.axis[at(a)].axis;
    across_pitch_ = job.layout.axis[at(a)].pitch;
  }
  const index_t lanes = job.layout.lanes.n;
  before_ = (tiling.before_elems + kernel.vector - 1) / kernel.vector * kernel.vector;  // rows begin at vectors
  const index_t elems = before_ + std::max(tiling.in_elems, tiling.place_elems) + tiling.after_elems;
  const Axis& along = job.layout.axis[at(job.layout.row_axis)].axis;
  band_.folded_pitch = (elems + kernel.reach + 63) / 64 * 64;
  band_.batch = std::clamp<index_t>(kFoldedBytes / std::max<index_t>(1, elems * kernel.lane_bytes), 1,
                                    std::min<index_t>(16, across_.out));
  folded_ = arena.take(band_.batch * band_.folded_pitch * kernel.lane_bytes + 64);
  absent_ = arena.take(tiling.in_elems * kernel.in_bytes);
  if (deep_ || across_.full().size() != across_.out)
    fill_copies(absent_, kernel.absent.data(), kernel.in_bytes, tiling.in_elems);
  if (deep_) make_ring(arena);
  taps_ = arena.take_array<const void*>(kMostBandRows * across_.kernel);
  offset_ = arena.take_array<index_t>(kMostBandRows * across_.kernel);
  divisor_each_ = arena.take((tiling.out_elems + kernel.vector) * std::max<index_t>(kernel.lane_bytes, sizeof(float)));
  band_.compact = arena.take((tiling.out_elems + kernel.vector) * kernel.lane_bytes);
  std::byte* select = arena.take(kPlaneSelectBytes);
  if (along.stride > 1) kernel.prepare(along.stride, lanes, select);
  band_.select = select;
  band_.infinity = deep_band_.infinity = kernel.infinity;
  band_.taps = taps_;
  band_.across = static_cast<int>(across_.kernel);
  band_.ascends = across_.stride == 1 && across_.dilation == 1;
  band_.tap_pitch = along.dilation * lanes;
  band_.along = static_cast<int>(along.kernel);
  band_.stride = along.stride;
  band_.lanes = lanes;
  band_.y_pitch = across_pitch_[kY];
  band_.divisor_each = divisor_each_;
  if (pool_.op == Op::lp && pool_.norm == 2) band_.lower = PlaneLower::root;
}

void PlaneFolder::make_ring(Arena& arena) {
  const index_t pitch = tiling_.in_elems / kernel_.vector * kernel_.vector + kernel_.vector;
  const index_t fit = kRingBytes / (pitch * kernel_.lane_bytes);
  chunk_ = std::clamp<index_t>((fit - across_.extent()) / across_.stride + 1, 1, kMostBandRows);
  ring_rows_ = std::max<index_t>(1, std::min(across_.in, (chunk_ - 1) * across_.stride + across_.extent()));
  ring_ = arena.take((ring_rows_ + 1) * pitch * kernel_.lane_bytes);
  fill_copies(ring_ + ring_rows_ * pitch * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes,
              pitch);  // absent
  deep_band_.taps = deep_taps_ = arena.take_array<const void*>(kMostBandRows * depth_.kernel);
  deep_band_.across = static_cast<int>(depth_.kernel);
  deep_band_.ahead_taps = static_cast<int>(std::min(depth_.stride, depth_.kernel));
  deep_band_.folded_pitch = pitch;
}

void PlaneFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  band_.in_elems = tile_.in_elems();
  band_.out_elems = tile_.out_elems();
  band_.folded = folded_ + before_ * kernel_.lane_bytes;
  band_.begin = tile_.axis.start(0) * tile_.lanes;
  band_.ahead_bytes = deep_ ? 0 : std::min(across_.stride, across_.kernel) * band_.in_elems * kernel_.in_bytes;
  deep_band_.ahead_bytes = band_.in_elems * kernel_.in_bytes;
  for (index_t r = 0; r < band_.batch; ++r) {
    std::byte* row = folded_ + r * band_.folded_pitch * kernel_.lane_bytes;
    const index_t pad = tile_.before * tile_.lanes;
    fill_copies(row + (before_ - pad) * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes, pad);
    fill_copies(row + (before_ + band_.in_elems) * kernel_.lane_bytes, kernel_.identity.data(), kernel_.lane_bytes,
                tile_.after * tile_.lanes);
  }
  if (averages_ && pool_.divisor == 0) count_along();
}

template <class T>
void PlaneFolder::set_divisors() {
  T* each = reinterpret_cast<T*>(divisor_each_);
  const Axis& axis = tile_.axis;
  const Range full = axis.full();
  const auto divisor = [&](index_t o) {
    return full.contains(o) ? axis.kernel : axis.divisor(o, pool_.count_include_pad);
  };
  along_divisor_ = divisor(0);
  for (index_t o = 0; o < axis.out && along_divisor_ != 0; ++o) {
    if (divisor(o) != along_divisor_) along_divisor_ = 0;
    if (full.contains(o)) o = full.end - 1;
  }
  if (along_divisor_ != 0) return;  // rows of a million are many tiles without a border
  for (index_t o = 0; o < axis.out; ++o) std::fill_n(each + o * tile_.lanes, tile_.lanes, static_cast<T>(divisor(o)));
  // The last vector divides by what follows too: a subnormal number there would take it more than a hundred cycles.
  std::fill_n(each + axis.out * tile_.lanes, kernel_.vector, T{1});
}

void PlaneFolder::count_along() {
  if (kernel_.lane_bytes == 8)
    set_divisors<double>();
  else
    set_divisors<float>();
}

void PlaneFolder::set_divisor(index_t across) {
  if (!averages_) return;
  const index_t all = pool_.divisor != 0 ? pool_.divisor : across * along_divisor_;
  if (all == 0) {
    band_.lower = PlaneLower::divide_each;
    band_.divisor = static_cast<double>(across);
    return;
  }
  band_.divide_all(all, job_.problem->dtype);
}

// The rows that output `row` of the across axis reads.
void PlaneFolder::list_taps(const std::byte* x, index_t row) {
  const index_t pitch = across_pitch_[kX] * kernel_.in_bytes, start = across_.start(row);
  const index_t ring_pitch = deep_band_.folded_pitch * kernel_.lane_bytes;
  const void** taps = taps_ + band_.rows * across_.kernel;
  index_t* offsets = offset_ + band_.rows++ * across_.kernel;
  for (index_t t = 0; t < across_.kernel; ++t) {
    const index_t input = across_.input_at(start + t * across_.dilation);
    if (deep_)
      taps[t] = ring_ + (input < 0 ? ring_rows_ : input % ring_rows_) * ring_pitch;
    else
      taps[t] = input < 0 ? absent_ : x + input * pitch;
    offsets[t] = input < 0 ? kAbsentOffset : input * pitch;
  }
}

// The same rows of another plane, or of another tile.
void PlaneFolder::move_taps(const std::byte* x) {
  band_.rows = listed_.size();
  if (deep_) return;  // they stand in the ring
  for (index_t i = 0; i < band_.rows * across_.kernel; ++i) {
    taps_[i] = offset_[i] == kAbsentOffset ? absent_ : x + offset_[i];
  }
}

// Folds rows of a slice of outputs along the depth, those that are not there yet.
bool PlaneFolder::fold_depth(const std::byte* x, index_t slice, Range rows) {
  bool special = false;
  for (index_t r = std::max(ring_end_, rows.begin); r < rows.end;) {
    const index_t slot = r % ring_rows_, count = std::min({rows.end - r, ring_rows_ - slot, kMostBandRows});
    for (index_t t = 0; t < depth_.kernel; ++t) {
      const index_t input = depth_.input_at(depth_.at(slice, t));
      const index_t pitch = input < 0 ? 0 : across_pitch_[kX] * kernel_.in_bytes;
      const std::byte* row = input < 0 ? absent_ : x + input * depth_pitch_[kX] * kernel_.in_bytes + r * pitch;
      for (index_t i = 0; i < count; ++i) deep_taps_[i * depth_.kernel + t] = row + i * pitch;
    }
    deep_band_.rows = count;
    deep_band_.in_elems = band_.in_elems;
    deep_band_.folded = ring_ + slot * deep_band_.folded_pitch * kernel_.lane_bytes;
    special |= kernel_.fold_across(deep_band_);
    r += count;
  }
  ring_end_ = std::max(ring_end_, rows.end);
  return special;
}

bool PlaneFolder::fold(index_t plane, index_t tile, Range rows) {
  set_tile(tile);
  const Pitches& row = job_.layout.axis[at(job_.layout.row_axis)].pitch;
  const index_t slice = rows.begin / across_.out, first = slice * across_.out;
  const std::byte* x = static_cast<const std::byte*>(job_.x) +
                       (job_.layout.plane_offset(plane, kX) + tile_.in_begin * row[kX]) * kernel_.in_bytes;
  const index_t y = job_.layout.plane_offset(plane, kY) + tile_.out_begin * row[kY] + slice * depth_pitch_[kY];
  const index_t depth_divisor = deep_ ? divisor_of(depth_, slice) : 1;
  const Range full = across_.full();
  ring_end_ = 0;
  bool special = false;
  for (index_t r = rows.begin - first; r < rows.end - first;) {
    const index_t begin = r, end = std::min(rows.end - first, r + chunk_);
    const index_t divisor = divisor_of(across_, r);
    if (listed_.begin == begin && listed_most_ == end) {
      r = listed_.end;
      move_taps(x);
    } else {
      band_.rows = 0;
      do {
        list_taps(x, r++);
      } while (r < end && ((full.contains(r) && full.contains(r - 1)) || divisor_of(across_, r) == divisor));
      listed_ = {begin, r};
      listed_most_ = end;
    }
    if (deep_ && fold_depth(x, slice, across_.needs({begin, r}))) return false;
    band_.y = static_cast<std::byte*>(job_.y) + (y + begin * across_pitch_[kY]) * kernel_.in_bytes;
    set_divisor(divisor * depth_divisor);
    special |= deep_ ? kernel_.fold_again(band_) : kernel_.fold(band_);
    if (special && !mends_) return false;
  }
  return !special;
}

void fold_tasks(const FoldJob& job, const PlaneKernel& kernel, const Tiling& tiling, index_t begin, index_t end) {
  Arena arena;
  PlaneFolder folder(job, kernel, tiling, arena);
  CarefulRows careful(job);
  for (index_t task = begin; task < end; ++task) {
    const index_t band = task % tiling.bands, tile = task / tiling.bands % tiling.tiles;
    const index_t plane = task / tiling.bands / tiling.tiles;
    const Range rows = {band * tiling.band_rows, std::min(tiling.rows, (band + 1) * tiling.band_rows)};
    folder.each_part(rows, [&](Range part) {
      if (folder.fold(plane, tile, part) || (folder.can_mend() && careful.mend(plane, tile, tiling, part))) return;
      careful.fold(plane, tile, tiling, part);
    });
  }
}

}  // namespace

bool can_planes(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.row_axis < 0) return false;
  if (layout.pooled() > 3 || !dense_rows(layout)) return false;
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
  const bool picks = along.stride > 2 || (along.stride == 2 && (layout.lanes.n > 1 || along.dilation > 1));
  // Without masks and permutations of whole vectors, "rows" does better where rows are shorter than vectors, or where a
  // stride leaves elements over.
  constexpr index_t kAvx512Bytes = 64;
  const bool avx512 = kernel.vector * kernel.lane_bytes == kAvx512Bytes;
  if (picks && (kernel.lane_bytes == 1 || !avx512)) return false;
  return avx512 || std::min(along.in, along.out) * layout.lanes.n >= kernel.vector;
}

void run_planes(const FoldJob& job, int threads) {
  const Tiling tiling(job.layout, job.plain, threads > 0 ? threads : default_threads(), kTileBytes);
  const PlaneKernel kernel = kernel_of(*job.problem);
  parallel_for(job.layout.plane_count() * tiling.tiles * tiling.bands, tiling.task_bytes, threads,
               [&](index_t begin, index_t end) { fold_tasks(job, kernel, tiling, begin, end); });
}

}  // namespace oriel::cpu
