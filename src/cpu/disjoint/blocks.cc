#include "cpu/disjoint/blocks.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "cpu/disjoint/tree.h"
#include "cpu/exact/mend.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/plan/counts.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/pairwise_rows.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/by_width.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/transpose.h"

namespace oriel::cpu {
namespace {

constexpr index_t kFewLanes = 15;
constexpr index_t kMostPlanes = 64;                  // of a block: a few vectors of any type
constexpr index_t kFewPlanes = 16;                   // one vector of 32-bit values
constexpr index_t kBlockBytes = index_t{256} << 10;  // planes of a block stay in the second cache
constexpr index_t kRowsBytes = index_t{64} << 10;    // their rows of accumulators
constexpr index_t kLongRow = 256;                    // taps of a window that is folded for itself
constexpr index_t kFewWindows = 4;
constexpr index_t kMostRowBytes = index_t{1} << 20;  // scratch memory is some tens of rows
constexpr index_t kManyTaps = 128;                   // so that a look at each result takes less than its fold

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Windows that share at most a tap or two.
bool stands_apart(const Axis& axis) { return axis.spacing == 1 && (axis.adaptive || axis.stride >= axis.extent()); }

int across_axis(const RowLayout& layout) { return layout.pooled() == 2 ? 1 - layout.row_axis : -1; }

// Whether results are mended that special values change, and not folded again.
bool mends_blocks(const FoldJob& job) {
  index_t taps = 1;
  for (const PooledAxis& a : job.layout.axis) taps *= a.axis.kernel;
  return mends(job) && taps >= kManyTaps;
}

// The columns of `lanes` elements at `places`, side by side.
template <class Unit>
void take_columns(const Unit* from, const index_t* places, index_t n, index_t lanes, Unit* to) {
  if (lanes == 1) {
    for (index_t j = 0; j < n; ++j) to[j] = from[places[j]];
    return;
  }
  for (index_t j = 0; j < n; ++j, to += lanes)
    for (index_t l = 0; l < lanes; ++l) to[l] = from[places[j] * lanes + l];
}

// The reverse, where columns are `pitch` apart and their elements `lane_pitch`.
template <class Unit>
void put_columns(const Unit* from, const index_t* places, index_t n, index_t lanes, index_t pitch, index_t lane_pitch,
                 Unit* to) {
  for (index_t j = 0; j < n; ++j, from += lanes)
    for (index_t l = 0; l < lanes; ++l) to[places[j] * pitch + l * lane_pitch] = from[l];
}

// How the planes and outputs are cut into blocks.
struct Blocks {
  Blocks(const FoldJob& job, int threads);

  index_t joined = 1;  // planes that lie at one distance from each other, in x and in y
  index_t planes = 1;  // of a block, at most
  index_t blocks = 1;
  index_t rows = 1;          // rows of outputs in a plane
  index_t tile_outputs = 1;  // outputs along a row that are folded together
  index_t tiles = 1;
  index_t bytes = 0;  // that one part of the work reads, about

  Range planes_of(index_t block) const;
};

Blocks::Blocks(const FoldJob& job, int threads) {
  const RowLayout& layout = job.layout;
  const PooledAxis& along = layout.axis[static_cast<std::size_t>(layout.row_axis)];
  const int across = across_axis(layout);
  index_t in_rows = 1;
  if (across >= 0) {
    const Axis& axis = layout.axis[static_cast<std::size_t>(across)].axis;
    rows = axis.out;
    in_rows = axis.in;
  }
  const LoopDim* inner = layout.planes.end();
  if (!layout.planes.empty()) {
    const LoopDim& last = *--inner;
    joined = last.n;
    while (inner != layout.planes.begin()) {
      const LoopDim& outer = *--inner;
      if (outer.pitch[kX] != last.pitch[kX] * joined || outer.pitch[kY] != last.pitch[kY] * joined) break;
      joined *= outer.n;
    }
  }
  const index_t row_bytes = std::max<index_t>(1, along.axis.in * layout.lanes.n * job.plain.value_bytes);
  tile_outputs = along.axis.out;
  if (row_bytes > kRowsBytes) {
    tile_outputs = std::clamp<index_t>(along.axis.out * kRowsBytes / row_bytes, 1, along.axis.out);
  }
  tiles = (along.axis.out + tile_outputs - 1) / tile_outputs;
  const index_t tile_bytes = std::max<index_t>(1, row_bytes / tiles);
  planes = std::clamp(kBlockBytes / (tile_bytes * in_rows), kFewPlanes, kMostPlanes);
  planes = std::max<index_t>(1, std::min(planes, kRowsBytes / tile_bytes));
  const index_t count = layout.plane_count(), wanted = 4 * std::max(1, threads);
  if (threads > 1) planes = std::min(planes, std::max<index_t>(1, count * rows * tiles / wanted));
  planes = std::min(planes, joined);
  blocks = count / joined * ((joined + planes - 1) / planes);
  bytes = planes * tile_bytes * std::max<index_t>(1, in_rows / std::max<index_t>(1, rows));
}

Range Blocks::planes_of(index_t block) const {
  const index_t of_run = (joined + planes - 1) / planes;
  const index_t begin = block / of_run * joined, from = block % of_run * planes;
  return {begin + from, begin + std::min(joined, from + planes)};
}

// The loops of a job: windows along a row, and across rows, of planes at one distance.
struct BlockAxes {
  explicit BlockAxes(const FoldJob& job);

  const FoldJob& fold;
  Axis across = Axis::uniform(1, 1, 1, 0, 0);  // a single tap where there is no axis across rows
  Axis along;
  Pitches across_pitch{}, along_pitch{};
  index_t x_plane = 0, y_plane = 0;  // from one plane of a block to the next, in elements
  index_t lanes;
};

BlockAxes::BlockAxes(const FoldJob& job)
    : fold(job),
      along(job.layout.axis[at(job.layout.row_axis)].axis),
      along_pitch(job.layout.axis[at(job.layout.row_axis)].pitch),
      lanes(job.layout.lanes.n) {
  if (const int number = across_axis(job.layout); number >= 0) {
    across = job.layout.axis[at(number)].axis;
    across_pitch = job.layout.axis[at(number)].pitch;
  }
  if (job.layout.planes.empty()) return;
  const LoopDim& last = *(job.layout.planes.end() - 1);
  x_plane = last.pitch[kX];
  y_plane = last.pitch[kY];
}

// The fold along the axis across rows: of some planes, into one row of accumulators for each.
class BlockRows {
 public:
  // For as many planes of rows of `elems` elements.
  BlockRows(const BlockAxes& axes, index_t planes, index_t elems, Arena& arena)
      : axes_(axes),
        how_(axes.fold.plain),
        kernels_(element_kernels(*axes.fold.problem, how_)),
        powers_(how_),
        absent_(make_identity(*axes.fold.problem, elems, arena)),
        rows_(arena.take(planes * elems * how_.value_bytes + 128)) {
    powers_.make(axes.across.kernel, planes * elems, arena);
  }

  // Folds the row `output` of outputs, from rows of `elems` elements; the first plane's first one is at x. True when a
  // special value was met.
  bool fold(const std::byte* x, index_t output, index_t planes, index_t elems);
  const std::byte* rows() const { return rows_; }

 private:
  bool fold_leaf(const std::byte* x, index_t input, index_t count, std::byte* out) const;
  bool fold_padded(const std::byte* x, index_t place, index_t count, std::byte* out) const;

  const BlockAxes& axes_;
  const RowReduction& how_;
  const ElementKernels kernels_;
  PairwiseRows powers_;
  const std::byte* const absent_;  // elements that change nothing
  std::byte* const rows_;
  index_t planes_ = 0;
  index_t elems_ = 0;
};

bool BlockRows::fold(const std::byte* x, index_t output, index_t planes, index_t elems) {
  planes_ = planes;
  elems_ = elems;
  const Axis& axis = axes_.across;
  const index_t width = axis.width(output), start = axis.start(output);
  const bool whole = axis.taps(output).size() == width && axis.dilation == 1;
  bool special = false;
  powers_.fold(width, planes * elems, {rows_, nullptr}, [&](index_t first, index_t count, RowOut to) {
    auto* out = static_cast<std::byte*>(to.value);
    special |=
        whole ? fold_leaf(x, start + first, count, out) : fold_padded(x, start + first * axis.dilation, count, out);
    return RowIn{to.value, nullptr, 0};
  });
  return special;
}

// `count` neighbouring rows of every plane.
bool BlockRows::fold_leaf(const std::byte* x, index_t input, index_t count, std::byte* out) const {
  const std::byte* from = x + input * axes_.across_pitch[kX] * how_.in_bytes;
  StepShape shape = {axes_.across_pitch[kX], axes_.x_plane, planes_, elems_, elems_};
  if (count == 1 && axes_.x_plane == elems_) {  // planes of one row: one long row
    shape.lanes *= planes_;
    shape.n = 1;
  }
  return kernels_.fold_element_steps(from, static_cast<int>(count), shape, out);
}

// The same where some taps are absent or rows stand apart.
bool BlockRows::fold_padded(const std::byte* x, index_t place, index_t count, std::byte* out) const {
  bool special = false;
  for (index_t p = 0; p < planes_; ++p) {
    const void* rows[kMaxFold];
    for (index_t t = 0; t < count; ++t) {
      const index_t input = axes_.across.input_at(place + t * axes_.across.dilation);
      const index_t from = p * axes_.x_plane + input * axes_.across_pitch[kX];
      rows[t] = input < 0 ? absent_ : x + from * how_.in_bytes;
    }
    const int n = static_cast<int>(count);
    special |= kernels_.fold_elements(rows, n, n, elems_, out + p * elems_ * how_.value_bytes);
  }
  return special;
}

// One thread's folds of blocks.
class BlockFolder {
 public:
  // Takes its memory from `arena`, which must not be reset while it lives.
  BlockFolder(const FoldJob& job, const Blocks& blocks, Arena& arena);

  // Folds outputs of the row `row` of some planes. False when a value was found that needs the careful recipe, or
  // mend.
  bool fold(Range planes, index_t row, index_t tile);
  // Of a pool with so many taps that its results are mended, after that: a plane's. False when it needs the careful
  // recipe.
  bool mend(index_t plane, index_t row, index_t tile) const;

 private:
  void fold_tiles(std::byte* y);
  void fold_each(std::byte* y);
  void fold_kinds(std::byte* y);
  void fold_long_windows(std::byte* y);
  void lower(const std::byte* acc, index_t n, index_t output, std::byte* y, index_t pitch) const;
  const std::byte* turn(index_t rows, index_t columns);
  index_t widest_tile() const;
  Range outputs_of(index_t tile) const {
    return {tile * blocks_.tile_outputs, std::min(axes_.along.out, (tile + 1) * blocks_.tile_outputs)};
  }

  const FoldJob& job_;
  const RowReduction& how_;
  const Blocks& blocks_;
  const BlockAxes axes_;
  const bool mends_;     // special values do not keep a fold from its end
  const index_t elems_;  // of a row, at most
  BlockRows rows_;
  RowTree tree_;
  PairwiseRows powers_;  // of windows along rows
  std::byte* turned_;    // the rows by place along them
  std::byte* result_;
  std::byte* absent_;  // accumulators that change nothing
  RowIn* taps_;

  WindowKinds kinds_;        // of a tile; its count is 0 where windows are folded one by one
  index_t kinds_tile_ = -1;  // which
  std::byte* gathered_ = nullptr;
  std::byte* lowered_ = nullptr;

  Axis tile_;  // what is being folded
  index_t row_ = 0;
  index_t planes_ = 0;
};

BlockFolder::BlockFolder(const FoldJob& job, const Blocks& blocks, Arena& arena)
    : job_(job),
      how_(job.plain),
      blocks_(blocks),
      axes_(job),
      mends_(mends_blocks(job)),
      elems_(std::max(widest_tile(), axes_.along.kernel) * axes_.lanes),
      rows_(axes_, blocks.planes, elems_, arena),
      tree_(how_, axes_.along.kernel >= kLongRow ? axes_.along.kernel : 0, arena),
      powers_(how_),
      turned_(arena.take(elems_ * blocks.planes * how_.value_bytes + 128)),
      result_(arena.take(elems_ * blocks.planes * how_.value_bytes + 128)),
      absent_(arena.take(axes_.lanes * blocks.planes * how_.value_bytes + 128)),
      taps_(arena.take_array<RowIn>(axes_.along.kernel)) {
  const index_t beside = blocks.planes * axes_.lanes;  // windows that are folded together, at one output
  fill_copies(absent_, how_.identity.data(), how_.value_bytes, beside);
  powers_.make(axes_.along.kernel, beside * blocks.tile_outputs, arena);
  if (blocks.tile_outputs < kFewWindows || axes_.along.kernel >= kLongRow) return;
  const index_t most = beside * blocks.tile_outputs;
  gathered_ = arena.take((axes_.along.kernel + 1) * most * how_.value_bytes + 128);  // taps, and their fold
  lowered_ = arena.take(most * how_.out_bytes + 128);
  kinds_.order = arena.take_array<index_t>(blocks.tile_outputs);
  kinds_.starts = arena.take_array<index_t>(blocks.tile_outputs);
}

index_t BlockFolder::widest_tile() const {
  index_t widest = 1;
  for (index_t t = 0; t < blocks_.tiles; ++t) widest = std::max(widest, axes_.along.needs(outputs_of(t)).size());
  return widest;
}

bool BlockFolder::mend(index_t plane, index_t row, index_t tile) const {
  OutputBox box;
  box.lanes = {0, axes_.lanes};
  for (int a = 0; a < job_.layout.pooled(); ++a) {
    box.outputs[at(a)] = a == job_.layout.row_axis ? outputs_of(tile) : Range{row, row + 1};
  }
  return oriel::cpu::mend(job_, plane, box);
}

bool BlockFolder::fold(Range planes, index_t row, index_t tile) {
  const Range outputs = outputs_of(tile);
  tile_ = axes_.along.slice(outputs);
  row_ = row;
  planes_ = planes.size();
  const index_t in = (tile_.in_offset - axes_.along.in_offset) * axes_.along_pitch[kX];
  const index_t out = row * axes_.across_pitch[kY] + outputs.begin * axes_.along_pitch[kY];
  const auto* x = static_cast<const std::byte*>(job_.x);
  x += (job_.layout.plane_offset(planes.begin, kX) + in) * how_.in_bytes;
  const bool special = rows_.fold(x, row, planes_, tile_.in * axes_.lanes);
  if (special && !mends_) return false;
  std::byte* y = static_cast<std::byte*>(job_.y) + (job_.layout.plane_offset(planes.begin, kY) + out) * how_.out_bytes;
  const bool tiled = !tile_.adaptive && tile_.dilation == 1 && tile_.stride == tile_.kernel &&
                     tile_.in == tile_.out * tile_.kernel && tile_.start(0) == 0;
  if (!tiled && kinds_.order != nullptr && kinds_tile_ != tile) {
    kinds_tile_ = tile;
    kinds_.find(tile_, how_.count_include_pad);
  }
  if (tiled && axes_.lanes == 1 && planes_ * tile_.out < kFewWindows && tile_.kernel >= kLongRow)
    fold_long_windows(y);
  else if (tiled)
    fold_tiles(y);
  else if (kinds_.count > 0)
    fold_kinds(y);
  else
    fold_each(y);
  return !special;
}

// The rows of accumulators as columns.
const std::byte* BlockFolder::turn(index_t rows, index_t columns) {
  if (rows == 1) return rows_.rows();
  transpose_kernel()(rows_.rows(), rows, columns, how_.value_bytes, turned_);
  return turned_;
}

// Windows that tile the row: the windows of all planes are the columns.
void BlockFolder::fold_tiles(std::byte* y) {
  const index_t width = tile_.in / tile_.out, windows = planes_ * tile_.out, bytes = how_.value_bytes;
  const std::byte* columns = turn(windows, width * axes_.lanes);
  for (index_t l = 0; l < axes_.lanes; ++l) {
    for (index_t t = 0; t < width; ++t) taps_[t] = {columns + (t * axes_.lanes + l) * windows * bytes, nullptr, 0};
    powers_.fold(taps_, width, windows, {result_, nullptr});
    std::byte* to = y + l * job_.layout.lanes.pitch[kY] * how_.out_bytes;
    if (tile_.out == 1) {
      lower(result_, planes_, 0, to, axes_.y_plane);
    } else if (axes_.y_plane == tile_.out * axes_.along_pitch[kY]) {
      lower(result_, windows, 0, to, axes_.along_pitch[kY]);
    } else {
      for (index_t p = 0; p < planes_; ++p) {
        lower(result_ + p * tile_.out * bytes, tile_.out, 0, to + p * axes_.y_plane * how_.out_bytes,
              axes_.along_pitch[kY]);
      }
    }
  }
}

// Few windows, windows with padding, or long ones: the planes are the columns.
void BlockFolder::fold_each(std::byte* y) {
  const index_t bytes = how_.value_bytes, column = planes_ * axes_.lanes * bytes;
  const std::byte* columns = turn(planes_, tile_.in * axes_.lanes);
  for (index_t o = 0; o < tile_.out; ++o) {
    const index_t width = tile_.width(o);
    if (planes_ * axes_.lanes == 1 && width >= kLongRow && tile_.dilation == 1 && tile_.taps(o).size() == width) {
      tree_.fold(rows_.rows() + tile_.start(o) * bytes, width, result_);
      lower(result_, 1, o, y + o * axes_.along_pitch[kY] * how_.out_bytes, axes_.y_plane);
      continue;
    }
    for (index_t t = 0; t < width; ++t) {
      const index_t input = tile_.input_at(tile_.at(o, t));
      taps_[t] = {input < 0 ? absent_ : columns + input * column, nullptr, 0};
    }
    powers_.fold(taps_, width, planes_ * axes_.lanes, {result_, nullptr});
    for (index_t l = 0; l < axes_.lanes; ++l) {
      const index_t to = o * axes_.along_pitch[kY] + l * job_.layout.lanes.pitch[kY];
      // One plane is not turned: its lanes are still beside each other, as are those of columns.
      lower(result_ + l * planes_ * bytes, planes_, o, y + to * how_.out_bytes, axes_.y_plane);
    }
  }
}

// Windows of changing size, or with gaps: those of one kind are the columns.
void BlockFolder::fold_kinds(std::byte* y) {
  const index_t lanes = axes_.lanes, bytes = how_.value_bytes, y_lane = job_.layout.lanes.pitch[kY];
  for (index_t k = 0; k < kinds_.count; ++k) {
    const WindowKind& kind = kinds_.kind[at(k)];
    const index_t outputs = kind.end - kind.begin, n = planes_ * outputs * lanes;
    for (index_t t = 0; t < kind.taps; ++t) taps_[t] = {gathered_ + t * n * bytes, nullptr, 0};
    by_width(bytes, [&]<class Unit>(Unit*) {
      auto* to = reinterpret_cast<Unit*>(gathered_);
      for (index_t t = 0; t < kind.taps; ++t)
        for (index_t p = 0; p < planes_; ++p) {
          const auto* from = reinterpret_cast<const Unit*>(rows_.rows()) + (p * tile_.in + t * tile_.dilation) * lanes;
          take_columns(from, kinds_.starts + kind.begin, outputs, lanes, to);
          to += outputs * lanes;
        }
    });
    std::byte* const folded = gathered_ + kind.taps * n * bytes;
    powers_.fold(taps_, kind.taps, n, {folded, nullptr});
    lower(folded, n, kinds_.order[kind.begin], lowered_, 1);
    by_width(how_.out_bytes, [&]<class Unit>(Unit*) {
      const auto* from = reinterpret_cast<const Unit*>(lowered_);
      for (index_t p = 0; p < planes_; ++p, from += outputs * lanes)
        put_columns(from, kinds_.order + kind.begin, outputs, lanes, axes_.along_pitch[kY], y_lane,
                    reinterpret_cast<Unit*>(y) + p * axes_.y_plane);
    });
  }
}

// Few windows, but long ones.
void BlockFolder::fold_long_windows(std::byte* y) {
  const index_t width = tile_.in / tile_.out, bytes = how_.value_bytes;
  for (index_t w = 0; w < planes_ * tile_.out; ++w) {
    tree_.fold(rows_.rows() + w * width * bytes, width, result_ + w * bytes);
  }
  for (index_t p = 0; p < planes_; ++p) {
    lower(result_ + p * tile_.out * bytes, tile_.out, 0, y + p * axes_.y_plane * how_.out_bytes, axes_.along_pitch[kY]);
  }
}

// Results n, `pitch` apart, of output `output` of the row or of those that count like it.
void BlockFolder::lower(const std::byte* acc, index_t n, index_t output, std::byte* y, index_t pitch) const {
  const RowRun run = {0, n, tile_.divisor(output, how_.count_include_pad), tile_.taps(output).size()};
  LowerParams p = params_of(how_, &run, 1);
  add_axis(p, how_, axes_.across, row_);
  (how_.lower != nullptr ? how_.lower : how_.store)({acc, nullptr, 0}, n, 1, p, y, pitch, 1);
}

}  // namespace

bool can_blocks(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.pooled() > 2 || layout.row_axis < 0) return false;
  const PooledAxis& along = layout.axis[static_cast<std::size_t>(layout.row_axis)];
  const index_t lanes = layout.lanes.n;
  if (lanes > 1 && layout.lanes.pitch[kX] != 1) return false;
  if (along.axis.in > 1 && along.pitch[kX] != lanes) return false;
  if (!job.plain.any_order && layout.row_axis != layout.pooled() - 1) return false;  // S8
  for (const PooledAxis& a : layout.axis) {
    if (!stands_apart(a.axis)) return false;
  }
  return element_kernels(*job.problem, job.plain).fold_elements != nullptr;
}

bool blocks_pay(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  const Axis& along = layout.axis[static_cast<std::size_t>(layout.row_axis)].axis;
  if (layout.lanes.n > kFewLanes) return false;
  if (layout.pooled() == 2 && along.in * layout.lanes.n * job.plain.value_bytes > kMostRowBytes) return false;
  return std::any_of(layout.axis.begin(), layout.axis.end(),
                     [](const PooledAxis& a) { return a.axis.adaptive || a.axis.kernel > kMaxFold; });
}

void run_blocks(const FoldJob& job, int threads) {
  const Blocks blocks(job, threads > 0 ? threads : default_threads());
  // Rows of several tiles, which threads share, that are folded again when all of their tiles are done.
  std::vector<std::atomic<bool>> again(blocks.tiles > 1 ? at(job.layout.plane_count() * blocks.rows) : 0);
  const auto fold_parts = [&](index_t begin, index_t end) {
    Arena arena;
    BlockFolder plain(job, blocks, arena);
    CarefulRows careful(job);
    const bool mended = mends_blocks(job);
    for (index_t part = begin; part < end; ++part) {
      const index_t tile = part % blocks.tiles, row = part / blocks.tiles % blocks.rows;
      const Range range = blocks.planes_of(part / blocks.tiles / blocks.rows);
      if (plain.fold(range, row, tile)) continue;
      for (index_t p = range.begin; p < range.end; ++p) {
        if (mended ? plain.mend(p, row, tile) : range.size() > 1 && plain.fold({p, p + 1}, row, tile)) continue;
        if (again.empty())
          careful.fold(p, {row, row + 1});
        else
          again[at(p * blocks.rows + row)] = true;
      }
    }
  };
  parallel_for(blocks.blocks * blocks.rows * blocks.tiles, blocks.bytes, threads, fold_parts);
  if (std::none_of(again.begin(), again.end(), [](const auto& row) { return row.load(); })) return;
  parallel_for(std::ssize(again), blocks.bytes * blocks.tiles, threads, [&](index_t begin, index_t end) {
    CarefulRows careful(job);
    for (index_t r = begin; r < end; ++r)
      if (again[at(r)]) careful.fold(r / blocks.rows, {r % blocks.rows, r % blocks.rows + 1});
  });
}

}  // namespace oriel::cpu
