#include "cpu/sum_gradient/share_folder.h"

#include <algorithm>
#include <cstring>

#include "cpu/sum_gradient/tap_tree.h"

namespace oriel::cpu {

ShareFolder::ShareFolder(const ShareJob& job, const Tiling& tiling, Arena& arena, Arena& tile_arena)
    : job_(job),
      layout_(job.layout),
      arena_(arena),
      bytes_(job.how.value_bytes),
      tile_(job, tiling, arena, tile_arena),
      results_(job, tiling, arena) {
  for (int a = 0; a < layout_.pooled(); ++a) {
    if (a != layout_.row_axis) add_stage(a);
  }
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
  index_t after = 0;
  for (index_t i = 0; i < tiling.tiles; i = i == 1 ? std::max<index_t>(2, tiling.tiles - 2) : i + 1) {
    tile_.set(i);  // those in the middle look as far as their neighbours
    before_bytes_ = std::max(before_bytes_, (tile_.before_bytes() + 63) / 64 * 64);
    after = std::max(after, tile_.after_bytes());
  }
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
  scratch_ = arena_.take(std::min<index_t>(4, tile_.spread().step) * slot_bytes_);
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
    share(dy_ + place, across, out);
    return out;
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
  add(taps, rows, out);
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
      share(dy_ + o * stage.pitch, stage.divisors != nullptr ? stage.divisors[o] : 1, out);
    }
    rows[t] = out;
  }
  if (taps.count == 0) return absent_;
  if (taps.count == 1) return static_cast<const std::byte*>(rows[0]);
  std::byte* out = rows_[1].first + before_bytes_;
  add(taps, rows, out);
  return out;
}

void ShareFolder::share(const std::byte* dy, double across, std::byte* out) const {
  tile_.share(dy, across, out);
  end_row(out);
}

void ShareFolder::add(const SharedTaps& taps, const void* const* rows, std::byte* out) const {
  job_.kernels.add(rows, taps.count, taps.tree, tile_.tile().in_elems(), out);
  end_row(out);
}

void ShareFolder::fold(index_t plane, index_t tile, Range rows) {
  tile_.set(tile);
  ++task_;
  dy_ = static_cast<const std::byte*>(job_.dy) + tile_.tile().offset(layout_, plane, kX) * job_.how.in_bytes;
  std::byte* dx = static_cast<std::byte*>(job_.dx) + tile_.tile().offset(layout_, plane, kY) * job_.how.out_bytes;
  RowCoords c = row_coords(layout_, rows.begin);
  const bool planar = stage_.size() == 1;
  const std::size_t planar_axis = planar ? at(stage_[0].number) : 0;
  for (index_t r = rows.begin; r < rows.end;) {
    std::byte* to = dx + row_offset(layout_, c, kY) * job_.how.out_bytes;
    const index_t end = std::min(rows.end, r + results_.most_rows());
    for (index_t i = r; i < end; ++i, to_next_row(layout_, c)) {
      std::byte* const result = results_.row(tile_.tile(), i - r);
      if (planar && i > r && stage_[0].taps[c[planar_axis]] == stage_[0].taps[c[planar_axis] - 1]) {
        std::memcpy(result, results_.row(tile_.tile(), i - r - 1), at(tile_.tile().out_elems() * bytes_));
        continue;
      }
      const std::byte* shares = planar ? planar_row(c[planar_axis]) : row(stage_.size(), c);
      job_.kernels.spread(tile_.spread(), shares, scratch_, slot_bytes_, result);
    }
    results_.store(tile_.tile(), end - r, to);
    r = end;
  }
}

}  // namespace oriel::cpu
