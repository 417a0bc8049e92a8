#include "cpu/sum_gradient/share_folder.h"

#include <algorithm>
#include <cstring>

#include "cpu/sum_gradient/tap_tree.h"

namespace oriel::cpu {
namespace {

constexpr index_t kStageBytes = 4096;  // of results that are stored together

}  // namespace

ShareFolder::ShareFolder(const ShareJob& job, const Tiling& tiling, Arena& arena, Arena& tile_arena)
    : job_(job),
      layout_(job.layout),
      tiling_(tiling),
      arena_(arena),
      tile_arena_(tile_arena),
      bytes_(job.how.value_bytes) {
  for (int a = 0; a < layout_.pooled(); ++a) {
    if (a != layout_.row_axis) add_stage(a);
  }
  dense_x_ = layout_.has_dense_rows(kX);
  dense_y_ = layout_.has_dense_rows(kY);
  joined_rows_ = dense_y_ && tiling.tiles == 1;
  index_t next = tiling.out_elems;
  for (int s = stage_.size() - 1; s >= 0; --s) {
    const PooledAxis& across = layout_.axis[at(stage_[at(s)].number)];
    joined_rows_ = joined_rows_ && (across.axis.out == 1 || across.pitch[kY] == next);
    next *= across.axis.out;
  }
  most_results_ =
      std::clamp<index_t>(kStageBytes / std::max<index_t>(1, tiling.out_elems * bytes_), 1, tiling.band_rows);
  make_rows(tiling);
}

void ShareFolder::add_stage(int a) {
  const Axis& axis = layout_.axis[at(a)].axis;
  Stage stage{.number = a, .input_step = axis.input_step(), .in = axis.in};
  stage.pitch = layout_.axis[at(a)].pitch[kX] * job_.how.in_bytes;
  if (!stage_.empty()) {
    const Axis& before = layout_.axis[at(stage_.back().number)].axis;
    stage.key_step = stage_.back().key_step * (before.in + before.out);
  }
  SharedTaps* taps = arena_.take_array<SharedTaps>(axis.out);
  index_t places = 1;
  for (index_t i = 0; i < axis.out; ++i) {
    taps[i] = shared_taps(axis, i);
    places = std::max(places, (taps[i].count - 1) * stage.input_step + 1);
  }
  stage.ring = static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(std::min(places, axis.in))));
  stage.taps = taps;
  if (job_.divides && job_.problem.pool.divisor == 0) {
    double* divisors = arena_.take_array<double>(axis.in);
    const Axis& windows = job_.problem.axis[at(a)];
    for (index_t o = 0; o < axis.in; ++o) {
      divisors[o] = static_cast<double>(std::max<index_t>(1, windows.divisor(o, job_.problem.pool.count_include_pad)));
    }
    stage.divisors = divisors;
  }
  stage_.push_back(stage);
}

// Rooms for the rows of every level, all of one size.
void ShareFolder::make_rows(const Tiling& tiling) {
  index_t before = 0, after = 0;
  for (index_t i = 0; i < tiling.tiles; i = i == 1 ? std::max<index_t>(2, tiling.tiles - 2) : i + 1) {
    set_tile(i);  // those in the middle look as far as their neighbours
    before = std::max(before, before_);
    after = std::max(after, after_bytes_);
  }
  before_bytes_ = (before * bytes_ + 63) / 64 * 64;
  const index_t elems = std::max(tiling.in_elems, tiling.out_elems);
  slot_bytes_ = before_bytes_ + (elems * bytes_ + after + kShareSlack + 63) / 64 * 64;
  for (int level = 0; level <= stage_.size(); ++level) {
    index_t count = 1;
    for (int s = level; s < stage_.size(); ++s) count *= s == level ? stage_[at(s)].ring : stage_[at(s)].in;
    Rows& rows = rows_[at(level)];
    rows.first = arena_.take(count * slot_bytes_);
    rows.keys = arena_.take_array<Key>(count);
    for (index_t i = 0; i < count; ++i) {
      rows.keys[i] = {};
      fill_copies(rows.first + i * slot_bytes_, job_.how.identity.data(), bytes_, before_bytes_ / bytes_);
    }
  }
  absent_ = arena_.take(slot_bytes_);
  fill_copies(absent_, job_.how.identity.data(), bytes_, slot_bytes_ / bytes_);
  absent_ += before_bytes_;
  raw_ = arena_.take(slot_bytes_);
  scratch_ = arena_.take(std::min<index_t>(4, spread_.step) * slot_bytes_);
  results_ = arena_.take(most_results_ * tiling.out_elems * bytes_ + kShareSlack);
  if (job_.x != nullptr) {
    lifted_ = arena_.take(most_results_ * tiling.out_elems * bytes_);
    scaled_ = arena_.take(most_results_ * tiling.out_elems * bytes_);
  }
}

void ShareFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  tile_arena_.reset();
  const RowSpread spread(tile_.axis, tile_.lanes, tile_arena_);
  spread_ = spread.how;
  before_ = spread.before * tile_.lanes;
  after_bytes_ = spread.after * tile_.lanes * bytes_;
  if (job_.divides) count_divisors();
}

// What the windows along the row count.
void ShareFolder::count_divisors() {
  along_ = nullptr;
  const index_t n = tile_.axis.in;
  const Pool& pool = job_.problem.pool;
  along_all_ = static_cast<double>(std::max<index_t>(1, pool.divisor));
  if (pool.divisor > 0 || layout_.row_axis < 0) return;
  const Axis& windows = job_.problem.axis[at(layout_.row_axis)];
  const auto divisor = [&](index_t o) {
    return std::max<index_t>(1, windows.divisor(tile_.in_begin + o, pool.count_include_pad));
  };
  const index_t middle = divisor(n / 2);
  along_all_ = static_cast<double>(middle);
  bool equal = true;
  for (index_t o = 0; o < n && equal; ++o) equal = divisor(o) == middle;
  if (equal) return;
  along_ = tile_arena_.take(tile_.in_elems() * bytes_ + kShareSlack);
  for (index_t o = 0; o < n; ++o) {
    const index_t value = divisor(o);
    for (index_t l = o * tile_.lanes; l < (o + 1) * tile_.lanes; ++l) {
      if (job_.how.value_bytes == 8)
        reinterpret_cast<double*>(along_)[l] = static_cast<double>(value);
      else
        reinterpret_cast<float*>(along_)[l] = static_cast<float>(value);
    }
  }
}

// Where a row of a level is kept, and what is kept there.
std::byte* ShareFolder::slot(int level, const RowCoords& c, Key*& key) const {
  index_t index = 0, step = 1;
  for (int s = level; s < stage_.size(); ++s) {
    const Stage& stage = stage_[at(s)];
    const index_t ring = s == level ? stage.ring : stage.in;
    index += step * (s == level ? c[at(stage.number)] & (ring - 1) : c[at(stage.number)]);
    step *= ring;
  }
  key = rows_[at(level)].keys + index;
  return rows_[at(level)].first + index * slot_bytes_ + before_bytes_;
}

// The row at c after `level` stages; c counts outputs of axes that are not folded yet, and inputs of the others.
const std::byte* ShareFolder::row(int level, RowCoords& c) {
  if (level > 0 && stage_[at(level - 1)].taps[c[at(stage_[at(level - 1)].number)]].count == 0) return absent_;
  Key* key;
  std::byte* out = slot(level, c, key);
  if (level < stage_.size()) {
    index_t number = 0;
    for (int s = 0; s <= level; ++s) number += c[at(stage_[at(s)].number)] * stage_[at(s)].key_step;
    if (key->task == task_ && key->row == number) return out;
    *key = {task_, number};
  }
  if (level == 0) {
    index_t place = 0;
    double across = 1;
    for (const Stage& s : stage_) {
      place += c[at(s.number)] * s.pitch;
      if (s.divisors != nullptr) across *= s.divisors[c[at(s.number)]];
    }
    return share(x_ + place, across, out);
  }
  const Stage& stage = stage_[at(level - 1)];
  index_t& coord = c[at(stage.number)];
  const index_t input = coord;
  const SharedTaps& taps = stage.taps[input];
  const void* rows[kMostTreeLeaves];
  for (int t = 0; t < taps.count; ++t) {
    coord = taps.first + t * stage.input_step;
    rows[t] = row(level - 1, c);
  }
  coord = input;
  if (taps.count == 1 && level == stage_.size()) return static_cast<const std::byte*>(rows[0]);
  job_.kernels.add(rows, taps.count, taps.tree, tile_.in_elems(), out);
  end_row(out);
  return out;
}

// The same where one axis runs across rows, which is the commonest: input i of it.
const std::byte* ShareFolder::planar_row(index_t i) {
  const Stage& stage = stage_[0];
  const SharedTaps& taps = stage.taps[i];
  const void* rows[kMostTreeLeaves];
  for (int t = 0; t < taps.count; ++t) {
    const index_t o = taps.first + t * stage.input_step, place = o & (stage.ring - 1);
    std::byte* out = rows_[0].first + place * slot_bytes_ + before_bytes_;
    Key& key = rows_[0].keys[place];
    if (key.row != o || key.task != task_) {
      key = {task_, o};
      share(x_ + o * stage.pitch, stage.divisors != nullptr ? stage.divisors[o] : 1, out);
    }
    rows[t] = out;
  }
  if (taps.count == 0) return absent_;
  if (taps.count == 1) return static_cast<const std::byte*>(rows[0]);
  std::byte* out = rows_[1].first + before_bytes_;
  job_.kernels.add(rows, taps.count, taps.tree, tile_.in_elems(), out);
  end_row(out);
  return out;
}

const std::byte* ShareFolder::share(const std::byte* x, double across, std::byte* out) {
  const index_t n = tile_.in_elems();
  const bool in_place = job_.same_dy && dense_x_;
  std::byte* lifted = job_.divides ? raw_ : out;
  if (!in_place) {
    const index_t pitch = tile_.position_pitch(layout_, kX);
    job_.lift(x, pitch, layout_.lanes.pitch[kX], tile_.axis.in, tile_.lanes, {lifted, nullptr}, {});
  } else if (!job_.divides) {
    job_.store(x, n * bytes_, false, out);
  }
  if (job_.divides && along_ != nullptr) {
    job_.kernels.divide_each(in_place ? x : lifted, along_, across, n, !in_place, out);
  } else if (job_.divides) {
    job_.kernels.divide(in_place ? x : lifted, n, across * along_all_, !in_place, out);
  }
  end_row(out);
  return out;
}

void ShareFolder::fold(index_t plane, index_t tile, Range rows) {
  set_tile(tile);
  ++task_;
  x_ = static_cast<const std::byte*>(job_.dy) + tile_.offset(layout_, plane, kX) * job_.how.in_bytes;
  std::byte* y = static_cast<std::byte*>(job_.dx) + tile_.offset(layout_, plane, kY) * job_.how.out_bytes;
  const index_t row_bytes = tile_.out_elems() * bytes_;
  RowCoords c = row_coords(layout_, rows.begin);
  const index_t together = joined_rows_ ? most_results_ : 1;
  const bool planar = stage_.size() == 1;
  const std::size_t planar_axis = planar ? at(stage_[0].number) : 0;
  for (index_t r = rows.begin; r < rows.end;) {
    std::byte* to = y + row_offset(layout_, c, kY) * job_.how.out_bytes;
    const index_t end = std::min(rows.end, r + together);
    for (index_t i = r; i < end; ++i, to_next_row(layout_, c)) {
      const std::byte* shares = planar ? planar_row(c[planar_axis]) : row(stage_.size(), c);
      job_.kernels.spread(spread_, shares, scratch_, slot_bytes_, results_ + (i - r) * row_bytes);
    }
    flush(to, end - r);
    r = end;
  }
}

// Stores the results of so many rows.
void ShareFolder::flush(std::byte* y, index_t rows) const {
  const index_t n = rows * tile_.out_elems(), lane_pitch = layout_.lanes.pitch[kY];
  const index_t pitch = dense_y_ || layout_.row_axis < 0 ? tile_.lanes : layout_.axis[at(layout_.row_axis)].pitch[kY];
  const std::byte* results = results_;
  if (job_.x != nullptr) {
    const void* x = static_cast<const std::byte*>(job_.x) + (y - static_cast<std::byte*>(job_.dx));
    if (!job_.same_dx || !dense_y_) {
      job_.lift_x(x, pitch, lane_pitch, rows * tile_.axis.out, tile_.lanes, {lifted_, nullptr}, {});
      x = lifted_;
    }
    job_.kernels.scale(results_, x, n, job_.norm, job_.problem.pool.nan == NanPolicy::omit, scaled_);
    results = scaled_;
  }
  if (job_.same_dx && dense_y_) return job_.store(results, n * bytes_, job_.past_caches, y);
  job_.how.lower({results, nullptr, 0}, rows * tile_.axis.out, tile_.lanes, {}, y, pitch, lane_pitch);
}

}  // namespace oriel::cpu
