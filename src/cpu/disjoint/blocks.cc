#include "cpu/disjoint/blocks.h"

#include <algorithm>
#include <cstring>

#include "cpu/exact/mend.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/rows/careful_rows.h"
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
constexpr int kMostParts = 64;                       // powers of two of a window

int log2_of(index_t m) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(m))) - 1; }

// Windows that share at most a tap or two.
bool stands_apart(const Axis& axis) { return axis.spacing == 1 && (axis.adaptive || axis.stride >= axis.extent()); }

int across_axis(const RowLayout& layout) { return layout.pooled() == 2 ? 1 - layout.row_axis : -1; }

// Whether results are mended that special values change, and not folded again.
bool mends_blocks(const FoldJob& job) {
  index_t taps = 1;
  for (const PooledAxis& a : job.layout.axis) taps *= a.axis.kernel;
  return mends(job) && taps >= kManyTaps;
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

void run_blocks(const FoldJob& job, int threads) {
  const Blocks blocks(job, threads > 0 ? threads : default_threads());
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
        careful.fold(p, {row, row + 1});
      }
    }
  };
  parallel_for(blocks.blocks * blocks.rows * blocks.tiles, blocks.bytes, threads, fold_parts);
}

BlockFolder::BlockFolder(const FoldJob& job, const Blocks& blocks, Arena& arena)
    : job_(job),
      layout_(job.layout),
      how_(job.plain),
      kernels_(element_kernels(*job.problem, job.plain)),
      blocks_(blocks),
      mends_(mends_blocks(job)),
      arena_(arena),
      across_(Axis::uniform(1, 1, 1, 0, 0)),
      along_(layout_.axis[at(layout_.row_axis)].axis),
      along_pitch_(layout_.axis[at(layout_.row_axis)].pitch),
      lanes_(layout_.lanes.n),
      tree_(how_, along_.kernel >= kLongRow ? along_.kernel : 0, arena) {
  if (const int across = across_axis(layout_); across >= 0) {
    across_ = layout_.axis[at(across)].axis;
    across_pitch_ = layout_.axis[at(across)].pitch;
  }
  if (!layout_.planes.empty()) {
    const LoopDim& last = *(layout_.planes.end() - 1);
    x_plane_ = last.pitch[kX];
    y_plane_ = last.pitch[kY];
  }
  index_t widest = 1;
  for (index_t t = 0; t < blocks_.tiles; ++t) {
    widest = std::max(widest, along_.needs(outputs_of(t)).size());
  }
  const index_t elems = std::max(widest, along_.kernel) * lanes_, all = elems * blocks_.planes;
  rows_ = make_buffer(all, how_.value_bytes);
  turned_ = make_buffer(all, how_.value_bytes);
  result_ = make_buffer(std::max(all, elems), how_.value_bytes);
  identity_ = make_identity(*job.problem, elems, arena);
  absent_ = make_buffer(lanes_ * blocks_.planes, how_.value_bytes);
  for (index_t i = 0; i < lanes_ * blocks_.planes; ++i) {
    std::memcpy(absent_ + i * how_.value_bytes, how_.identity.data(), at(how_.value_bytes));
  }
  const index_t most_taps = std::max(across_.kernel, along_.kernel);
  taps_ = arena_.take_array<RowIn>(most_taps);
  const index_t beside = blocks_.planes * lanes_ * blocks_.tile_outputs;  // windows that are folded together
  power_bytes_ = ((across_.kernel > kMaxFold ? std::max(all, beside) : beside) * how_.value_bytes + 127) / 64 * 64;
  if (most_taps > kMaxFold) powers_ = make_buffer((log2_of(most_taps) + 1) * kTurns, power_bytes_);
}

Range BlockFolder::outputs_of(index_t tile) const {
  return {tile * blocks_.tile_outputs, std::min(along_.out, (tile + 1) * blocks_.tile_outputs)};
}

bool BlockFolder::mend(index_t plane, index_t row, index_t tile) const {
  OutputBox box;
  box.lanes = {0, lanes_};
  for (int a = 0; a < layout_.pooled(); ++a) {
    box.outputs[at(a)] = a == layout_.row_axis ? outputs_of(tile) : Range{row, row + 1};
  }
  Mender mender(job_, plane, box);
  if (!mender.find_nan()) return false;
  mender.write_nan();
  return mender.sign_zeros();
}

bool BlockFolder::fold(Range planes, index_t row, index_t tile) {
  const Range outputs = outputs_of(tile);
  tile_ = along_.slice(outputs);
  row_ = row;
  planes_ = planes.size();
  special_ = false;
  const index_t in = (tile_.in_offset - along_.in_offset) * along_pitch_[kX];
  const index_t out = row * across_pitch_[kY] + outputs.begin * along_pitch_[kY];
  fold_down(static_cast<const std::byte*>(job_.x) + (layout_.plane_offset(planes.begin, kX) + in) * how_.in_bytes);
  if (special_ && !mends_) return false;
  std::byte* y = static_cast<std::byte*>(job_.y) + (layout_.plane_offset(planes.begin, kY) + out) * how_.out_bytes;
  const bool tiled = !tile_.adaptive && tile_.dilation == 1 && tile_.stride == tile_.kernel &&
                     tile_.in == tile_.out * tile_.kernel && tile_.start(0) == 0;
  if (tiled && lanes_ == 1 && planes_ * tile_.out < kFewWindows && tile_.kernel >= kLongRow)
    fold_long_windows(y);
  else if (tiled)
    fold_tiles(y);
  else
    fold_each(y);
  return !special_;
}

// Folds along the axis across rows into one row of accumulators for each plane.
void BlockFolder::fold_down(const std::byte* x) {
  const index_t width = across_.width(row_), start = across_.start(row_);
  const Range taps = across_.taps(row_);
  const index_t elems = tile_.in * lanes_;
  const bool whole = taps.size() == width && across_.dilation == 1;
  fold_many(width, planes_ * elems, rows_, [&](index_t first, index_t count, std::byte* out) {
    if (whole)
      fold_leaf(x, start + first, count, out);
    else
      fold_padded(x, start + first * across_.dilation, count, out);
  });
}

// `count` neighbouring rows of every plane.
void BlockFolder::fold_leaf(const std::byte* x, index_t input, index_t count, std::byte* out) {
  const index_t elems = tile_.in * lanes_;
  const std::byte* from = x + input * across_pitch_[kX] * how_.in_bytes;
  StepShape shape = {across_pitch_[kX], x_plane_, planes_, elems, elems};
  if (count == 1 && x_plane_ == elems) {  // planes of one row: one long row
    shape.lanes *= planes_;
    shape.n = 1;
  }
  special_ |= kernels_.fold_element_steps(from, static_cast<int>(count), shape, out);
}

// The same where some taps are absent or rows stand apart.
void BlockFolder::fold_padded(const std::byte* x, index_t place, index_t count, std::byte* out) {
  const index_t elems = tile_.in * lanes_;
  for (index_t p = 0; p < planes_; ++p) {
    const void* rows[kMaxFold];
    for (index_t t = 0; t < count; ++t) {
      const index_t input = across_.input_at(place + t * across_.dilation);
      rows[t] = input < 0 ? identity_ : x + (p * x_plane_ + input * across_pitch_[kX]) * how_.in_bytes;
    }
    const int n = static_cast<int>(count);
    special_ |= kernels_.fold_elements(rows, n, n, elems, out + p * elems * how_.value_bytes);
  }
}

// rows_ as columns.
const std::byte* BlockFolder::turn(index_t rows, index_t columns) {
  if (rows == 1) return rows_;
  transpose_kernel()(rows_, rows, columns, how_.value_bytes, turned_);
  return turned_;
}

// Windows that tile the row: the windows of all planes are the columns.
void BlockFolder::fold_tiles(std::byte* y) {
  const index_t width = tile_.in / tile_.out, windows = planes_ * tile_.out, bytes = how_.value_bytes;
  const std::byte* columns = turn(windows, width * lanes_);
  for (index_t l = 0; l < lanes_; ++l) {
    for (index_t t = 0; t < width; ++t) taps_[t] = {columns + (t * lanes_ + l) * windows * bytes, nullptr, 0};
    fold_taps(width, windows, result_);
    std::byte* to = y + l * layout_.lanes.pitch[kY] * how_.out_bytes;
    if (tile_.out == 1) {
      lower(result_, planes_, 0, to, y_plane_);
    } else if (y_plane_ == tile_.out * along_pitch_[kY]) {
      lower(result_, windows, 0, to, along_pitch_[kY]);
    } else {
      for (index_t p = 0; p < planes_; ++p) {
        lower(result_ + p * tile_.out * bytes, tile_.out, 0, to + p * y_plane_ * how_.out_bytes, along_pitch_[kY]);
      }
    }
  }
}

// Windows of changing size, with gaps or padding: the planes are the columns.
void BlockFolder::fold_each(std::byte* y) {
  const index_t bytes = how_.value_bytes, column = planes_ * lanes_ * bytes;
  const std::byte* columns = turn(planes_, tile_.in * lanes_);
  for (index_t o = 0; o < tile_.out; ++o) {
    const index_t width = tile_.width(o);
    if (planes_ * lanes_ == 1 && width >= kLongRow && tile_.dilation == 1 && tile_.taps(o).size() == width) {
      tree_.fold(rows_ + tile_.start(o) * bytes, width, result_);
      lower(result_, 1, o, y + o * along_pitch_[kY] * how_.out_bytes, y_plane_);
      continue;
    }
    for (index_t t = 0; t < width; ++t) {
      const index_t input = tile_.input_at(tile_.at(o, t));
      taps_[t] = {input < 0 ? absent_ : columns + input * column, nullptr, 0};
    }
    fold_taps(width, planes_ * lanes_, result_);
    for (index_t l = 0; l < lanes_; ++l) {
      const index_t to = o * along_pitch_[kY] + l * layout_.lanes.pitch[kY];
      // One plane is not turned: its lanes are still beside each other, as are those of columns.
      lower(result_ + l * planes_ * bytes, planes_, o, y + to * how_.out_bytes, y_plane_);
    }
  }
}

// Few windows, but long ones.
void BlockFolder::fold_long_windows(std::byte* y) {
  const index_t width = tile_.in / tile_.out, bytes = how_.value_bytes;
  for (index_t w = 0; w < planes_ * tile_.out; ++w) {
    tree_.fold(rows_ + w * width * bytes, width, result_ + w * bytes);
  }
  for (index_t p = 0; p < planes_; ++p) {
    lower(result_ + p * tile_.out * bytes, tile_.out, 0, y + p * y_plane_ * how_.out_bytes, along_pitch_[kY]);
  }
}

// Results n, `pitch` apart, of output `output` of the row or of those that count like it.
void BlockFolder::lower(const std::byte* acc, index_t n, index_t output, std::byte* y, index_t pitch) {
  LowerParams p;
  const RowRun run = {0, n, tile_.divisor(output, how_.count_include_pad), tile_.taps(output).size()};
  if (how_.lower != nullptr && how_.counts) {
    p.norm = how_.norm;
    p.fixed_divisor = how_.divisor > 0;
    p.divisor = p.fixed_divisor ? how_.divisor : across_.divisor(row_, how_.count_include_pad);
    p.taps = across_.taps(row_).size();
    p.runs = &run;
    p.run_count = 1;
  }
  (how_.lower != nullptr ? how_.lower : how_.store)({acc, nullptr, 0}, n, 1, p, y, pitch, 1);
}

void BlockFolder::fold_taps(index_t count, index_t n, std::byte* out) {
  fold_many(count, n, out, [&](index_t first, index_t some, std::byte* to) {
    how_.fold.fold_rows(taps_ + first, static_cast<int>(some), n, {to, nullptr});
  });
}

template <class Leaf>
void BlockFolder::fold_many(index_t count, index_t n, std::byte* out, const Leaf& leaf) {
  if (count <= kMaxFold) return leaf(0, count, out);
  RowIn parts[kMostParts];
  int used = 0;
  for (index_t t = 0; t < count;) {
    const index_t m = detail::floor_power_of_two(count - t);
    parts[used++] = power(t, m, n, leaf);
    t += m;
  }
  if (used <= 3)
    how_.fold.fold_rows(parts, used, n, {out, nullptr});  // for so few the tree is the same
  else
    how_.fold.fold_left(parts, used, n, {out, nullptr});
}

template <class Leaf>
RowIn BlockFolder::power(index_t first, index_t count, index_t n, const Leaf& leaf) {
  const int size = log2_of(count);
  std::byte* out = powers_ + (size * kTurns + turns_[at(size)]++ % kTurns) * power_bytes_;
  if (count <= kMaxFold) {
    leaf(first, count, out);
  } else {
    const RowIn halves[2] = {power(first, count / 2, n, leaf), power(first + count / 2, count / 2, n, leaf)};
    how_.fold.fold_rows(halves, 2, n, {out, nullptr});
  }
  return {out, nullptr, 0};
}

}  // namespace oriel::cpu
