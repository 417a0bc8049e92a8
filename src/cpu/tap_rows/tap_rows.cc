#include "cpu/tap_rows/tap_rows.h"

#include <algorithm>

#include "cpu/simd/stream.h"
#include "cpu/tap_rows/phases.h"

namespace oriel::cpu {
namespace {

constexpr index_t kTileBytes = index_t{24} << 10;  // inputs of a tile: they stay in the first cache, split too
constexpr index_t kLeastTile = 128;                // outputs
constexpr index_t kMostTile = 8192;

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

template <class T>
void gather_elements(const T* from, index_t n, index_t pitch, index_t lanes, index_t lane_pitch, T* to) {
  if (lanes == 1) {
    for (index_t i = 0; i < n; ++i) to[i] = from[i * pitch];
    return;
  }
  for (index_t i = 0; i < n; ++i) {
    for (index_t l = 0; l < lanes; ++l) to[i * lanes + l] = from[i * pitch + l * lane_pitch];
  }
}

template <class T>
void scatter_elements(const T* from, index_t n, index_t pitch, index_t lanes, index_t lane_pitch, T* to) {
  for (index_t i = 0; i < n; ++i) {
    for (index_t l = 0; l < lanes; ++l) to[i * pitch + l * lane_pitch] = from[i * lanes + l];
  }
}

// Calls f with a null pointer to an unsigned integer of so many bytes.
template <class F>
void by_width(index_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return f(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return f(static_cast<std::uint32_t*>(nullptr));
    default:
      return f(static_cast<std::uint64_t*>(nullptr));
  }
}

// The mask stands where a layout has indices.
RowLayout layout_of(const Statistic& job) {
  if (job.mask == nullptr)
    return make_layout(job.problem, job.problem.axis, job.x, job.y, nullptr, IndexSpace::plane, SingleTaps::pooled);
  const Tensor mask(const_cast<void*>(job.mask->data), job.mask->dtype, job.mask->shape, job.mask->pitch);
  return make_layout(job.problem, job.problem.axis, job.x, job.y, &mask, IndexSpace::plane, SingleTaps::pooled);
}

}  // namespace

bool TapPlan::can(const Statistic& job) {
  if (job.index != nullptr || job.weights != nullptr) return false;
  for (int a = 0; a < job.problem.pooled; ++a) {
    const Axis& axis = job.problem.axis[at(a)];
    if (axis.adaptive || axis.spacing != 1) return false;
  }
  return true;
}

TapPlan::TapPlan(const Statistic& statistic)
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
  const auto dense = [&](Operand operand, index_t n) {
    return (lanes == 1 || lane_pitch[operand] == 1) && (n == 1 || along_pitch[operand] == lanes);
  };
  dense_x = dense(kX, along.in);
  dense_y = dense(kY, along.out);
  dense_mask = dense(kIndex, along.in);
  tile_outputs = kTileBytes / std::max<index_t>(1, across_taps * along.stride * lanes * in_bytes);
  tile_outputs = std::min(along.out, std::clamp(tile_outputs, kLeastTile, kMostTile));
  tiles = (along.out + tile_outputs - 1) / tile_outputs;
  tile_outputs = (along.out + tiles - 1) / tiles;
  tiles = (along.out + tile_outputs - 1) / tile_outputs;
  past_caches = dense_y && element_count(job.y.shape) * out_bytes >= stream_bytes;
}

TapReader::TapReader(const TapPlan& plan, Arena& arena)
    : plan_(plan),
      row_elems_(((plan.tile_outputs - 1) * plan.along.stride + plan.along.extent()) * plan.lanes),
      phase_elems_((plan.tile_outputs + plan.along.extent() / plan.along.stride + 1) * plan.lanes) {
  const Statistic& job = plan.job;
  x_ = make_source(job.x.data, kX, plan.in_bytes, plan.dense_x, arena);
  if (job.mask != nullptr) mask_ = make_source(job.mask->data, kIndex, 1, plan.dense_mask, arena);
  if (!plan.dense_y || plan.past_caches) results_ = arena.take(plan.tile_outputs * plan.lanes * plan.out_bytes);
  const Footprint& footprint = job.problem.pool.footprint;
  if (!footprint.empty()) footprint_ = footprint.taps.data();
  place_ = arena.take_array<index_t>(plan.across_taps * plan.along.kernel);
  for (index_t a = 0; a < plan.across_taps; ++a) {
    index_t rest = a;
    RowCoords t{};
    for (int i = plan.across.size() - 1; i >= 0; --i) {
      const int axis = plan.across[at(i)];
      const index_t kernel = plan.layout.axis[at(axis)].axis.kernel;
      t[at(axis)] = rest % kernel;
      rest /= kernel;
    }
    for (index_t k = 0; k < plan.along.kernel; ++k) {
      if (plan.layout.row_axis >= 0) t[at(plan.layout.row_axis)] = k;
      index_t place = 0;
      for (int axis = 0; axis < plan.layout.pooled(); ++axis)
        place = place * plan.layout.axis[at(axis)].axis.kernel + t[at(axis)];
      place_[a * plan.along.kernel + k] = place;
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
  s.taps = arena.take_array<const void*>(rows * plan_.along.kernel);
  return s;
}

void TapReader::begin(index_t item) {
  const index_t tile = item % plan_.tiles, row = item / plan_.tiles % plan_.rows;
  const index_t plane = item / plan_.tiles / plan_.rows;
  outputs_ = {tile * plan_.tile_outputs, std::min(plan_.along.out, (tile + 1) * plan_.tile_outputs)};
  tile_ = plan_.along.slice(outputs_);
  coords_ = row_coords(plan_.layout, row);
  const bool includes = plan_.job.problem.pool.count_include_pad;
  exist_across_ = divisor_across_ = 1;
  for (const int a : plan_.across) {
    const Axis& axis = plan_.layout.axis[at(a)].axis;
    exist_across_ *= axis.taps(coords_[at(a)]).size();
    divisor_across_ *= axis.divisor(coords_[at(a)], includes);
  }
  find_rows(x_, plane);
  split_ = plan_.along.stride > 1 && !tile_.full().empty();
  if (split_) split(x_);
  if (mask_.rows != nullptr) {
    find_rows(mask_, plane);
    if (split_) split(mask_);
  }
  y_ = static_cast<std::byte*>(plan_.job.y.data);
  y_ += (plan_.layout.plane_offset(plane, kY) + row_offset(plan_.layout, coords_, kY) +
         outputs_.begin * plan_.along_pitch[kY]) *
        plan_.out_bytes;
  to_ = results_ != nullptr ? results_ : y_;
}

void TapReader::find_rows(Source& s, index_t plane) const {
  const index_t begin = plan_.layout.plane_offset(plane, s.operand) +
                        (tile_.in_offset - plan_.along.in_offset) * plan_.along_pitch[s.operand];
  for (index_t a = 0; a < plan_.across_taps; ++a) {
    index_t rest = a, offset = begin;
    bool exists = true;
    for (int i = plan_.across.size() - 1; i >= 0; --i) {
      const PooledAxis& p = plan_.layout.axis[at(plan_.across[at(i)])];
      const index_t input = p.axis.input_at(p.axis.at(coords_[at(plan_.across[at(i)])], rest % p.axis.kernel));
      rest /= p.axis.kernel;
      exists = exists && input >= 0;
      offset += input * p.pitch[s.operand];
    }
    s.rows[a] = exists ? s.data + offset * s.bytes : nullptr;
    if (!exists || s.dense) continue;
    std::byte* to = s.gathered + a * row_elems_ * s.bytes;
    gather(s, s.rows[a], to);
    s.rows[a] = to;
  }
}

void TapReader::gather(const Source& s, const std::byte* from, std::byte* to) const {
  by_width(s.bytes, [&]<class T>(T*) {
    gather_elements(reinterpret_cast<const T*>(from), tile_.in, plan_.along_pitch[s.operand], plan_.lanes,
                    plan_.lane_pitch[s.operand], reinterpret_cast<T*>(to));
  });
}

// The inputs of the full windows, by place modulo the step.
void TapReader::split(const Source& s) const {
  const index_t step = plan_.along.stride, group = plan_.lanes * s.bytes;
  const Range full = tile_.full();
  const Axis run = tile_.slice(full);
  for (index_t a = 0; a < plan_.across_taps; ++a) {
    if (s.rows[a] == nullptr) continue;
    const std::byte* from = s.rows[a] + tile_.start(full.begin) * group;
    std::byte* to = s.phases + a * step * phase_elems_ * s.bytes;
    split_phases()({.from = from,
                    .step = step,
                    .inputs = run.in,
                    .least = run.phase_length(std::min(step, run.extent()) - 1),
                    .used = std::min(step, run.extent()),
                    .lanes = plan_.lanes,
                    .bytes = s.bytes,
                    .pitch = phase_elems_ * s.bytes,
                    .to = to});
  }
}

void TapReader::list_taps(const Source& s, Range outputs, bool full) const {
  const index_t group = plan_.lanes * s.bytes;
  const index_t kernel = plan_.along.kernel;
  for (index_t a = 0; a < plan_.across_taps; ++a) {
    for (index_t k = 0; k < kernel; ++k) {
      const index_t place = place_[a * kernel + k];
      const void*& tap = s.taps[place];
      tap = nullptr;
      if (s.rows[a] == nullptr || (footprint_ != nullptr && footprint_[place] == 0)) continue;
      const index_t input = tile_.input_at(tile_.at(outputs.begin, k));
      if (input < 0) continue;
      if (full && split_) {
        tap = s.phases + (a * tile_.stride + tile_.phase(k)) * phase_elems_ * s.bytes + tile_.phase_offset(k) * group;
      } else {
        tap = s.rows[a] + input * group;
      }
    }
  }
}

TapRun TapReader::run(Range outputs) {
  const bool full = tile_.full().contains(outputs.begin);
  const index_t count = plan_.across_taps * plan_.along.kernel;
  list_taps(x_, outputs, full);
  if (mask_.rows != nullptr) list_taps(mask_, outputs, full);
  TapRun r{.taps = x_.taps, .masks = mask_.rows != nullptr ? mask_.taps : nullptr};
  r.exist = exist_across_ * tile_.taps(outputs.begin).size();
  r.has = count - std::count(x_.taps, x_.taps + count, nullptr);
  r.divisor = divisor_across_ * tile_.divisor(outputs.begin, plan_.job.problem.pool.count_include_pad);
  r.n = outputs.size() * plan_.lanes;
  r.y = to_ + outputs.begin * plan_.lanes * plan_.out_bytes;
  return r;
}

void TapReader::finish() {
  if (results_ == nullptr) return;
  if (plan_.past_caches) return writer_.write(results_, outputs_.size() * plan_.lanes * plan_.out_bytes, y_);
  by_width(plan_.out_bytes, [&]<class T>(T*) {
    scatter_elements(reinterpret_cast<const T*>(results_), outputs_.size(), plan_.along_pitch[kY], plan_.lanes,
                     plan_.lane_pitch[kY], reinterpret_cast<T*>(y_));
  });
}

}  // namespace oriel::cpu
