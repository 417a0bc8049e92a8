#include "cpu/tap_rows/tap_rows.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cpu/runtime/by_width.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr index_t kTileBytes = index_t{24} << 10;  // inputs of a tile: they stay in the first cache, split too
constexpr index_t kLeastTile = 128;                // outputs, of all lanes
constexpr index_t kMostTile = 8192;
constexpr index_t kAheadBytes = index_t{16} << 10;  // less comes too late
constexpr index_t kAbsentRow = std::numeric_limits<index_t>::min();

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

template <class T>
void gather_elements(const T* from, const RowShape& s, T* to) {
  if (s.lanes == 1) {
    for (index_t i = 0; i < s.n; ++i) to[i] = from[i * s.pitch];
    return;
  }
  for (index_t i = 0; i < s.n; ++i) {
    for (index_t l = 0; l < s.lanes; ++l) to[i * s.lanes + l] = from[i * s.pitch + l * s.lane_pitch];
  }
}

template <class T>
void scatter_elements(const T* from, const RowShape& s, T* to) {
  for (index_t i = 0; i < s.n; ++i) {
    for (index_t l = 0; l < s.lanes; ++l) to[i * s.pitch + l * s.lane_pitch] = from[i * s.lanes + l];
  }
}

// Whether windows are the inputs themselves.
bool is_itself(const Axis& axis) {
  return axis.kernel == 1 && axis.stride == 1 && axis.first == 0 && axis.in == axis.out;
}

// The mask stands where a layout has indices. Axes whose windows are single inputs are not pooled: their places can
// be lanes.
RowLayout layout_of(const Statistic& job) {
  Problem problem = job.problem;
  problem.pooled = 0;
  for (int a = 0; a < job.problem.pooled; ++a) {
    const bool needed = a + 1 == job.problem.pooled && problem.pooled == 0;  // a layout has an axis
    if (!needed && is_itself(job.problem.axis[at(a)])) continue;
    problem.axes[at(problem.pooled)] = job.problem.axes[at(a)];
    problem.axis[at(problem.pooled++)] = job.problem.axis[at(a)];
  }
  Tensor mask;
  if (job.mask != nullptr)
    mask = Tensor(const_cast<void*>(job.mask->data), job.mask->dtype, job.mask->shape, job.mask->pitch);
  return make_layout(problem, problem.axis, job.x, job.y, job.mask != nullptr ? &mask : nullptr, IndexSpace::plane,
                     SingleTaps::pooled);
}

}  // namespace

void gather_row(const std::byte* from, const RowShape& shape, std::byte* to) {
  by_width(shape.bytes,
           [&]<class T>(T*) { gather_elements(reinterpret_cast<const T*>(from), shape, reinterpret_cast<T*>(to)); });
}

void scatter_row(const std::byte* from, const RowShape& shape, std::byte* to) {
  by_width(shape.bytes,
           [&]<class T>(T*) { scatter_elements(reinterpret_cast<const T*>(from), shape, reinterpret_cast<T*>(to)); });
}

bool TapPlan::can(const Statistic& job) {
  if (job.index != nullptr || job.weights != nullptr) return false;
  for (int a = 0; a < job.problem.pooled; ++a) {
    const Axis& axis = job.problem.axis[at(a)];
    if (axis.adaptive || axis.spacing != 1) return false;
  }
  return true;
}

TapPlan::TapPlan(const Statistic& statistic, TapPairs taken)
    : job(statistic),
      layout(layout_of(statistic)),
      in_bytes(size_bytes(statistic.x.dtype)),
      out_bytes(size_bytes(statistic.y.dtype)) {
  if (layout.row_axis >= 0) {
    along = layout.axis[at(layout.row_axis)].axis;
    along_pitch = layout.axis[at(layout.row_axis)].pitch;
    lanes = layout.lanes.n;
    lane_pitch = layout.lanes.pitch;
  } else {  // lanes alone: windows of one tap along them
    along = Axis::uniform(layout.lanes.n, 1, 1, 0, 0);
    along_pitch = layout.lanes.pitch;
  }
  for (int a = 0; a < layout.pooled(); ++a) {
    if (a == layout.row_axis) continue;
    across.push_back(a);
    across_taps *= layout.axis[at(a)].axis.kernel;
    rows *= layout.axis[at(a)].axis.out;
  }
  std::stable_sort(across.begin(), across.end(), [&](int a, int b) {  // rows beside each other come one after the other
    return std::abs(layout.axis[at(a)].pitch[kX]) > std::abs(layout.axis[at(b)].pitch[kX]);
  });
  const auto dense = [&](Operand operand, index_t n) {
    return (lanes == 1 || lane_pitch[operand] == 1) && (n == 1 || along_pitch[operand] == lanes);
  };
  dense_x = dense(kX, along.in);
  dense_y = dense(kY, along.out);
  dense_mask = dense(kIndex, along.in);
  const bool last = layout.row_axis == layout.pooled() - 1;
  pairs = taken != TapPairs::none && (taken == TapPairs::any || last) && dense_x && job.mask == nullptr && lanes == 1 &&
          along.stride == 2 && along.kernel == 2 && along.dilation == 1 && job.problem.pool.footprint.empty();
  tile_outputs = kTileBytes / std::max<index_t>(1, across_taps * along.stride * lanes * in_bytes);
  tile_outputs = std::min(
      along.out, std::clamp(pairs ? kMostTile : tile_outputs, std::max<index_t>(1, kLeastTile / lanes), kMostTile));
  tiles = (along.out + tile_outputs - 1) / tile_outputs;
  tile_outputs = (along.out + tiles - 1) / tiles;
  tiles = (along.out + tile_outputs - 1) / tile_outputs;
  past_caches = dense_y && element_count(job.y.shape) * out_bytes >= stream_bytes;
}

TapReader::TapReader(const TapPlan& plan, Arena& arena)
    : plan_(plan),
      row_elems_(((plan.tile_outputs - 1) * plan.along.stride + plan.along.extent()) * plan.lanes),
      phase_elems_((plan.tile_outputs + plan.along.extent() / plan.along.stride + 1) * plan.lanes),
      split_(split_phases()) {
  const Statistic& job = plan.job;
  index_t first = 0;
  for (const int a : plan.across) {
    const PooledAxis& axis = plan.layout.axis[at(a)];
    across_.push_back({&axis, a, -1, first, 0, 0});
    first += axis.axis.kernel;
  }
  across_outputs_ = first;
  x_ = make_source(job.x.data, kX, plan.in_bytes, plan.dense_x, arena);
  if (job.mask != nullptr) mask_ = make_source(job.mask->data, kIndex, 1, plan.dense_mask, arena);
  if (!plan.dense_y || plan.past_caches) results_ = arena.take(plan.tile_outputs * plan.lanes * plan.out_bytes);
  const Footprint& footprint = job.problem.pool.footprint;
  if (!footprint.empty()) footprint_ = footprint.taps.data();
  place_ = arena.take_array<index_t>(plan.across_taps * plan.along.kernel);
  list_places();
}

void TapReader::list_places() {
  const RowLayout& layout = plan_.layout;
  for (index_t a = 0; a < plan_.across_taps; ++a) {
    index_t rest = a;
    RowCoords t{};
    for (int i = plan_.across.size() - 1; i >= 0; --i) {
      const int axis = plan_.across[at(i)];
      t[at(axis)] = rest % layout.axis[at(axis)].axis.kernel;
      rest /= layout.axis[at(axis)].axis.kernel;
    }
    for (index_t k = 0; k < plan_.along.kernel; ++k) {
      if (layout.row_axis >= 0) t[at(layout.row_axis)] = k;
      index_t place = 0;
      for (int axis = 0; axis < layout.pooled(); ++axis)
        place = place * layout.axis[at(axis)].axis.kernel + t[at(axis)];
      place_[a * plan_.along.kernel + k] = place;
    }
  }
}

TapReader::Source TapReader::make_source(const void* data, Operand operand, index_t bytes, bool dense,
                                         Arena& arena) const {
  Source s{.data = static_cast<const std::byte*>(data), .operand = operand, .bytes = bytes, .dense = dense};
  const index_t rows = plan_.across_taps;
  if (!dense) s.gathered = arena.take(rows * row_elems_ * bytes + kLineBytes);
  if (plan_.along.stride > 1) s.phases = arena.take(rows * plan_.along.stride * phase_elems_ * bytes + kLineBytes);
  s.rows = arena.take_array<const std::byte*>(rows);
  s.offsets = arena.take_array<index_t>(across_outputs_ + 1);
  s.taps = arena.take_array<const void*>(rows * plan_.along.kernel);
  return s;
}

void TapReader::begin(index_t item, bool first) {
  const index_t tile = plan_.tiles == 1 ? 0 : item % plan_.tiles;
  const bool moves = first || tile == 0;  // else it is another tile of the same row
  if (first) {
    index_t row = item / plan_.tiles;
    for (int i = across_.size() - 1; i >= 0; --i) {
      const Across& a = across_[at(i)];
      coords_[at(a.number)] = row % a.axis->axis.out;
      row /= a.axis->axis.out;
    }
    plane_ = row;
  } else if (moves) {
    to_next_row();
  }
  if (first || tile != tile_number_) cut_tile(tile);
  if (moves) move_across(first);
  find_rows(x_);
  if (splits_) split(x_);
  if (mask_.rows != nullptr) {
    find_rows(mask_);
    if (splits_) split(mask_);
  }
  y_ = static_cast<std::byte*>(plan_.job.y.data);
  y_ += (plan_.layout.plane_offset(plane_, kY) + row_offset(plan_.layout, coords_, kY) +
         outputs_.begin * plan_.along_pitch[kY]) *
        plan_.out_bytes;
  to_ = results_ != nullptr ? results_ : y_;
}

void TapReader::to_next_row() {
  for (int i = across_.size() - 1; i >= 0; --i) {
    index_t& output = coords_[at(across_[at(i)].number)];
    if (++output < across_[at(i)].axis->axis.out) return;
    output = 0;
  }
  ++plane_;
}

void TapReader::cut_tile(index_t tile) {
  tile_number_ = tile;
  outputs_ = {tile * plan_.tile_outputs, std::min(plan_.along.out, (tile + 1) * plan_.tile_outputs)};
  tile_ = plan_.along.slice(outputs_);
  full_ = tile_.full();
  splits_ = plan_.along.stride > 1 && !plan_.pairs && !full_.empty();
  listed_ = false;
}

// Most of the time one axis goes on: divisions take long.
void TapReader::move_across(bool first) {
  const bool includes = plan_.job.problem.pool.count_include_pad;
  exist_across_ = divisor_across_ = 1;
  for (Across& a : across_) {
    const index_t output = coords_[at(a.number)];
    if (first || a.output != output) {
      const Axis& axis = a.axis->axis;
      a.output = output;
      a.exist = 0;
      if (plan_.divides) a.divisor = axis.divisor(output, includes);
      for (index_t t = 0; t < axis.kernel; ++t) {
        const index_t input = axis.input_at(axis.at(output, t)), to = a.first + t;
        a.exist += input >= 0 ? 1 : 0;
        x_.offsets[to] = input >= 0 ? input * a.axis->pitch[kX] : kAbsentRow;
        if (mask_.rows != nullptr) mask_.offsets[to] = input >= 0 ? input * a.axis->pitch[kIndex] : kAbsentRow;
      }
    }
    exist_across_ *= a.exist;
    divisor_across_ *= a.divisor;
  }
  const bool all = exist_across_ == plan_.across_taps;
  if (all != all_rows_) listed_ = false;
  all_rows_ = all;
}

void TapReader::find_rows(Source& s) const {
  const index_t begin = plan_.layout.plane_offset(plane_, s.operand) +
                        (tile_.in_offset - plan_.along.in_offset) * plan_.along_pitch[s.operand];
  s.rows[0] = s.data + begin * s.bytes;
  index_t rows = 1;
  for (const Across& a : across_) {  // each row becomes as many as there are taps
    const index_t kernel = a.axis->axis.kernel;
    for (index_t r = rows - 1; r >= 0; --r) {
      const std::byte* row = s.rows[r];
      for (index_t t = kernel - 1; t >= 0; --t) {
        const index_t offset = s.offsets[a.first + t];
        s.rows[r * kernel + t] = row == nullptr || offset == kAbsentRow ? nullptr : row + offset * s.bytes;
      }
    }
    rows *= kernel;
  }
  if (s.dense) return;
  for (index_t a = 0; a < plan_.across_taps; ++a) {
    if (s.rows[a] == nullptr) continue;
    std::byte* to = s.gathered + a * row_elems_ * s.bytes;
    gather_row(s.rows[a], plan_.row_shape(s.operand, tile_.in), to);
    s.rows[a] = to;
  }
}

// The inputs of the full windows, by place modulo the step.
void TapReader::split(const Source& s) const {
  const index_t step = plan_.along.stride, extent = plan_.along.extent(), used = std::min(step, extent);
  PhaseRows rows{.count = plan_.across_taps, .step = step, .used = used, .lanes = plan_.lanes, .bytes = s.bytes};
  rows.rows = s.rows;
  rows.first = tile_.start(full_.begin) * plan_.lanes * s.bytes;
  rows.inputs = (full_.size() - 1) * step + extent;
  rows.least = full_.size() + (extent - used) / step;
  rows.pitch = phase_elems_ * s.bytes;
  rows.to = s.phases;
  if (s.dense) rows.ahead = ahead(s);
  split_(rows);
}

// What comes next is the next tile, or the next row.
index_t TapReader::ahead(const Source& s) const {
  index_t next = plan_.tile_outputs * plan_.along.stride * plan_.along_pitch[s.operand];
  if (plan_.tiles == 1 && !across_.empty()) {
    const PooledAxis& last = *(across_.end() - 1)->axis;
    next = last.axis.stride * last.pitch[s.operand];
  }
  const index_t item = plan_.across_taps * plan_.tile_outputs * plan_.along.stride * plan_.lanes * s.bytes;
  return next * s.bytes * std::max<index_t>(1, kAheadBytes / item);
}

void TapReader::list_taps(const Source& s, Range outputs, bool full) const {
  const index_t group = plan_.lanes * s.bytes, kernel = plan_.along.kernel;
  const bool phases = full && splits_;
  for (index_t k = 0; k < kernel; ++k) {
    const index_t input = tile_.input_at(tile_.at(outputs.begin, k));
    const index_t offset = input * group;
    const std::byte* phase = s.phases;
    if (phases) phase += tile_.phase(k) * phase_elems_ * s.bytes + tile_.phase_offset(k) * group;
    for (index_t a = 0; a < plan_.across_taps; ++a) {
      const index_t place = plan_.pairs ? a * kernel + k : place_[a * kernel + k];
      const bool absent = input < 0 || s.rows[a] == nullptr || (footprint_ != nullptr && footprint_[place] == 0);
      s.taps[place] = absent   ? nullptr
                      : phases ? phase + a * tile_.stride * phase_elems_ * s.bytes
                               : s.rows[a] + offset;
    }
  }
}

TapRun TapReader::run(Range outputs) {
  const bool full = full_.contains(outputs.begin);
  const index_t count = plan_.across_taps * plan_.along.kernel;
  if (!full || !listed_) {
    list_taps(x_, outputs, full);
    if (mask_.rows != nullptr) list_taps(mask_, outputs, full);
    has_ = count - std::count(x_.taps, x_.taps + count, nullptr);
    listed_ = full && splits_ && all_rows_;
  }
  TapRun r{.taps = x_.taps, .masks = mask_.rows != nullptr ? mask_.taps : nullptr};
  r.exist = exist_across_ * (full ? plan_.along.kernel : tile_.taps(outputs.begin).size());
  r.has = has_;
  if (plan_.divides)
    r.divisor = divisor_across_ * tile_.divisor(outputs.begin, plan_.job.problem.pool.count_include_pad);
  r.n = outputs.size() * plan_.lanes;
  r.pairs = full && plan_.pairs;
  if (r.pairs) r.ahead = ahead(x_);
  r.y = to_ + outputs.begin * plan_.lanes * plan_.out_bytes;
  return r;
}

void TapReader::finish() {
  if (results_ == nullptr) return;
  if (plan_.past_caches) return writer_.write(results_, outputs_.size() * plan_.lanes * plan_.out_bytes, y_);
  scatter_row(results_, plan_.row_shape(kY, outputs_.size()), y_);
}

}  // namespace oriel::cpu
