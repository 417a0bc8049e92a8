#include "cpu/chords/chord_folder.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace oriel::cpu {
namespace {

constexpr index_t kKeptBytes = index_t{512} << 10;  // half of the second cache
constexpr index_t kLeastTileBytes = 512;
constexpr index_t kNowhere = std::numeric_limits<index_t>::min();

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

ChordPlan::ChordPlan(const Statistic& job, int threads) : rows(job) {
  for (int i = 0; i < rows.across.size(); ++i) {
    const PooledAxis& a = rows.layout.axis[at(rows.across[at(i)])];
    if (i + 1 == rows.across.size()) {
      inner = a.axis;
      inner_pitch = a.pitch;
    } else {
      outer_taps *= a.axis.kernel;
      outer_outputs *= a.axis.out;
    }
  }
  list_chords();
  cut(threads);
}

void ChordPlan::list_chords() {
  const RowLayout& layout = rows.layout;
  const std::vector<std::uint8_t>& footprint = rows.job.problem.pool.footprint.taps;
  std::vector<std::pair<index_t, Place>> all;
  for (index_t a = 0; a < rows.across_taps; ++a) {
    index_t rest = a;
    RowCoords t{};
    for (int i = rows.across.size() - 1; i >= 0; --i) {
      const int axis = rows.across[at(i)];
      t[at(axis)] = rest % layout.axis[at(axis)].axis.kernel;
      rest /= layout.axis[at(axis)].axis.kernel;
    }
    const index_t outer = a / inner.kernel, along_inner = a % inner.kernel;
    index_t run = 0;
    for (index_t k = 0; k <= rows.along.kernel; ++k) {
      if (layout.row_axis >= 0) t[at(layout.row_axis)] = k;
      index_t place = 0;
      for (int x = 0; x < layout.pooled(); ++x) place = place * layout.axis[at(x)].axis.kernel + t[at(x)];
      if (k < rows.along.kernel && (footprint.empty() || footprint[at(place)] != 0)) {
        ++run;
        all.push_back({place, {outer, along_inner, k}});
        continue;
      }
      if (run == 0) continue;
      const int level = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(run))) - 1;
      chords.push_back({outer, along_inner, k - run, level, run - (index_t{1} << level)});
      levels = std::max(levels, level + 1);
      run = 0;
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [place, tap] : all) taps.push_back(tap);
}

// Tiles whose rows stay in the second cache, and bands for all threads.
void ChordPlan::cut(int threads) {
  const index_t kept = outer_taps * inner.kernel * levels * rows.lanes * rows.in_bytes;  // of one place
  const index_t least = std::max<index_t>(1, kLeastTileBytes / (rows.lanes * rows.in_bytes));
  const index_t halo = rows.along.kernel - 1;
  tile_outputs = std::min(rows.along.out, std::max({kKeptBytes / kept - halo, 2 * halo, least}));
  tiles = ceil_div(rows.along.out, tile_outputs);
  tile_outputs = ceil_div(rows.along.out, tiles);
  tiles = ceil_div(rows.along.out, tile_outputs);
  band_outputs = inner.out;
  const index_t others = rows.layout.plane_count() * outer_outputs * tiles;
  if (const index_t wanted = 4 * index_t{threads}; threads > 1 && others < wanted) {
    band_outputs = std::min(inner.out, std::max(ceil_div(inner.out * others, wanted), 2 * inner.kernel));
  }
  bands = ceil_div(inner.out, band_outputs);
}

index_t ChordPlan::task_bytes() const {
  const index_t row = tile_outputs * rows.lanes * rows.in_bytes;
  return row * band_outputs * (static_cast<index_t>(chords.size()) / 4 + levels + 1);
}

ChordFolder::ChordFolder(const ChordPlan& plan, Arena& arena)
    : plan_(plan),
      kernels_(chord_kernels(plan.rows.job.problem.dtype)),
      range_(plan.rows.job.problem.pool.op == Op::range),
      width_((plan.tile_outputs + plan.rows.along.kernel - 1) * plan.rows.lanes) {
  const Problem& problem = plan.rows.job.problem;
  const index_t rows = plan.outer_taps * plan.inner.kernel, bytes = width_ * plan.rows.in_bytes;
  for (std::size_t i = 0; i < (range_ ? 2 : 1); ++i) {
    keys_[i].rule = {problem.dtype, i == 1 || problem.pool.op == Op::min};
    keys_[i].levels = arena.take(rows * plan.levels * bytes);
    store_no_key(keys_[i].rule, no_key_[i].data());
  }
  kept_ = arena.take_array<Row>(rows);
  list_ = arena.take_array<const void*>(2 * static_cast<index_t>(plan.chords.size()));
  outer_offset_ = arena.take_array<index_t>(plan.outer_taps);
  if (!plan.rows.dense_x) gathered_ = arena.take(bytes);
  greatest_ = arena.take(bytes);
  high_ = arena.take(bytes);
  if (range_) low_ = arena.take(bytes);
}

void ChordFolder::fold(index_t task) {
  start(task);
  for (index_t k = 0; k + 1 < plan_.inner.kernel; ++k) fetch(plan_.inner.at(band_.begin, k));
  for (index_t o = band_.begin; o < band_.end; ++o) {
    fetch(plan_.inner.at(o, plan_.inner.kernel - 1));
    first_slot_ = floor_mod(plan_.inner.at(o, 0), plan_.inner.kernel);
    fold_row(o);
  }
}

void ChordFolder::start(index_t task) {
  const TapPlan& rows = plan_.rows;
  const index_t band = task % plan_.bands, tile = task / plan_.bands % plan_.tiles;
  index_t outer = task / plan_.bands / plan_.tiles;
  const index_t plane = outer / plan_.outer_outputs;
  outer %= plan_.outer_outputs;
  band_ = {band * plan_.band_outputs, std::min(plan_.inner.out, (band + 1) * plan_.band_outputs)};
  const Range outputs = {tile * plan_.tile_outputs, std::min(rows.along.out, (tile + 1) * plan_.tile_outputs)};
  tile_ = rows.along.slice(outputs);
  first_input_ = tile_.in_offset - rows.along.in_offset;
  inputs_ = tile_.in;
  before_ = inputs_ == 0 ? 0 : -tile_.start(0);
  places_ = outputs.size() + rows.along.kernel - 1;
  index_t y = rows.layout.plane_offset(plane, kY) + outputs.begin * rows.along_pitch[kY];
  std::fill_n(outer_offset_, plan_.outer_taps, rows.layout.plane_offset(plane, kX));
  index_t step = 1;  // of the number of an outer tap
  for (int i = rows.across.size() - 2; i >= 0; --i) {
    const PooledAxis& a = rows.layout.axis[at(rows.across[at(i)])];
    const index_t output = outer % a.axis.out;
    outer /= a.axis.out;
    y += output * a.pitch[kY];
    for (index_t t = 0; t < plan_.outer_taps; ++t) {
      const index_t input = a.axis.input_at(a.axis.at(output, t / step % a.axis.kernel));
      if (outer_offset_[t] == kNowhere) continue;
      outer_offset_[t] = input < 0 ? kNowhere : outer_offset_[t] + input * a.pitch[kX];
    }
    step *= a.axis.kernel;
  }
  x_ = static_cast<const std::byte*>(rows.job.x.data);
  y_ = static_cast<std::byte*>(rows.job.y.data) + y * rows.out_bytes;
}

// The row `input` of all outer taps.
void ChordFolder::fetch(index_t input) {
  const bool exists = plan_.inner.input_at(input) >= 0 && inputs_ > 0;
  const index_t slot = floor_mod(input, plan_.inner.kernel);
  for (index_t t = 0; t < plan_.outer_taps; ++t) {
    const index_t number = t * plan_.inner.kernel + slot;
    Row& row = kept_[number] = {};
    if (!exists || outer_offset_[t] == kNowhere) continue;
    row.x = x_ + (outer_offset_[t] + input * plan_.inner_pitch[kX]) * plan_.rows.in_bytes;
    lift(row.x + first_input_ * plan_.rows.along_pitch[kX] * plan_.rows.in_bytes, number, row);
  }
}

void ChordFolder::lift(const std::byte* x, index_t number, Row& row) {
  const index_t bytes = plan_.rows.in_bytes, lanes = plan_.rows.lanes;
  if (gathered_ != nullptr) {
    gather_row(x, plan_.rows.row_shape(kX, inputs_), gathered_);
    x = gathered_;
  }
  const index_t after = places_ - before_ - inputs_;
  for (std::size_t i = 0; i < (range_ ? 2 : 1); ++i) {
    const Keys& keys = keys_[i];
    std::byte* to = level(keys, number, 0);
    fill_copies(to, no_key_[i].data(), bytes, before_ * lanes);
    row.negative_zero = kernels_.lift(x, inputs_ * lanes, keys.rule, to + before_ * lanes * bytes);
    fill_copies(to + (before_ + inputs_) * lanes * bytes, no_key_[i].data(), bytes, after * lanes);
    for (int l = 0; l + 1 < plan_.levels; ++l) {
      const index_t taps = index_t{2} << l;
      kernels_.twice(level(keys, number, l), taps / 2 * lanes, (places_ - taps + 1) * lanes,
                     level(keys, number, l + 1));
    }
  }
}

void ChordFolder::fold_row(index_t output) {
  const TapPlan& rows = plan_.rows;
  std::byte* y = y_ + output * plan_.inner_pitch[kY] * rows.out_bytes;
  const index_t n = tile_.out * rows.lanes;
  std::byte* to = rows.dense_y ? y : high_;
  fold_keys(keys_[0], range_ ? high_ : to);
  if (range_) {
    fold_keys(keys_[1], low_);
    subtract_elements(high_, low_, rows.job.problem.dtype, n, to);
  } else if (has_negative_zero()) {
    if (rows.in_bytes == 2) mend_zeros(reinterpret_cast<std::uint16_t*>(to));
    if (rows.in_bytes == 4) mend_zeros(reinterpret_cast<std::uint32_t*>(to));
    if (rows.in_bytes == 8) mend_zeros(reinterpret_cast<std::uint64_t*>(to));
  }
  if (!rows.dense_y) scatter_row(to, rows.row_shape(kY, tile_.out), y);
}

void ChordFolder::fold_keys(const Keys& keys, std::byte* out) {
  const index_t n = tile_.out * plan_.rows.lanes, group = plan_.rows.lanes * plan_.rows.in_bytes;
  index_t count = 0;
  for (const Chord& c : plan_.chords) {
    const index_t number = number_of(c.outer, c.inner);
    if (kept_[number].x == nullptr) continue;
    const std::byte* row = level(keys, number, c.level) + c.begin * group;
    list_[count++] = row;
    if (c.move > 0) list_[count++] = row + c.move * group;
  }
  if (count == 0)
    fill_copies(greatest_, no_key_[static_cast<std::size_t>(&keys - keys_.data())].data(), plan_.rows.in_bytes, n);
  else
    kernels_.max(list_, count, n, greatest_);
  kernels_.lower(greatest_, n, keys.rule, out);
}

bool ChordFolder::has_negative_zero() const {
  const index_t rows = plan_.outer_taps * plan_.inner.kernel;
  return std::any_of(kept_, kept_ + rows, [](const Row& row) { return row.x != nullptr && row.negative_zero; });
}

// Of zeros the first in scan order has the sign (S4).
template <class U>
void ChordFolder::mend_zeros(U* y) const {
  const TapPlan& rows = plan_.rows;
  const auto is_zero = [](U bits) { return static_cast<U>(bits << 1) == 0; };
  for (index_t i = 0; i < tile_.out * rows.lanes; ++i) {
    if (!is_zero(y[i])) continue;
    const index_t lane = i % rows.lanes * rows.lane_pitch[kX];
    for (const ChordPlan::Place& tap : plan_.taps) {
      const index_t input = tile_.input_at(tile_.at(i / rows.lanes, tap.along));
      const Row& row = kept_[number_of(tap.outer, tap.inner)];
      if (input < 0 || row.x == nullptr) continue;
      const U v = reinterpret_cast<const U*>(row.x)[(first_input_ + input) * rows.along_pitch[kX] + lane];
      if (!is_zero(v)) continue;
      y[i] = v;
      break;
    }
  }
}

}  // namespace oriel::cpu
