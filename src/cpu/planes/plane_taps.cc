#include "cpu/planes/plane_taps.h"

#include <algorithm>

namespace oriel::cpu {
namespace {

constexpr index_t kRingBytes = 32 * 1024;  // of rows that are folded along the first of two axes across them
constexpr index_t kAbsentOffset = lowest_value<index_t>();

}  // namespace

PlaneAxes::PlaneAxes(const RowLayout& layout) {
  for (int a = 0; a < layout.pooled(); ++a) {
    if (a == layout.row_axis) continue;
    if (layout.pooled() == 3 && !deep) {
      deep = true;
      depth = layout.axis[static_cast<std::size_t>(a)].axis;
      depth_pitch = layout.axis[static_cast<std::size_t>(a)].pitch;
      continue;
    }
    across = layout.axis[static_cast<std::size_t>(a)].axis;
    across_pitch = layout.axis[static_cast<std::size_t>(a)].pitch;
  }
}

void DepthRing::make(const Tiling& tiling, const std::byte* absent, bool far, Arena& arena) {
  far_ = far;
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
  band_.ahead_bytes = far_ ? 0 : elems * kernel_.in_bytes;
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

void BandTaps::add(const std::byte* x, index_t row) {
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

void BandTaps::move(const std::byte* x) {
  if (axes_.deep) return;  // they stand in the ring
  const index_t taps = listed_.size() * axes_.across.kernel;
  for (index_t i = 0; i < taps; ++i) taps_[i] = offset_[i] == kAbsentOffset ? absent_ : x + offset_[i];
}

}  // namespace oriel::cpu
