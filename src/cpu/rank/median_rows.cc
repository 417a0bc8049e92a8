#include "cpu/rank/median_rows.h"

#include <algorithm>

#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr index_t kLines = 4;  // rows that wait to be written past the caches

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

Dtype key_dtype(index_t bytes) {
  return bytes == 1 ? Dtype::u8 : bytes == 2 ? Dtype::u16 : bytes == 4 ? Dtype::u32 : Dtype::i64;
}

}  // namespace

index_t MedianRows::size_of(const RankPlan& plan) {
  const Axis &along = plan.layout.along.axis, &down = plan.layout.down.axis;
  const index_t size = along.kernel;
  const bool is_flat = plan.layout.deep.axis.kernel == 1;  // else so many taps may be a part of a deeper window
  if ((size != 3 && size != 5) || down.kernel != size || !is_flat || plan.taps != size * size) return 0;
  if (along.stride != 1 || down.stride != 1 || down.dilation != 1) return 0;
  return plan.ranks == std::vector<index_t>{size * size / 2} ? size : 0;
}

MedianRows::MedianRows(const RankPlan& plan, const RankPlane& plane, index_t row_bytes, bool in_line, Arena& arena)
    : plan_(plan), plane_(plane), keys_(median_kernel(key_dtype(plan.bytes), size_of(plan))) {
  const RankLayout& layout = plan.layout;
  pitch_ = ceil_div(row_bytes, kRankVectorBytes) * kRankVectorBytes;
  for (index_t i = 0; i < kLines; ++i) found_.push_back(arena.take(row_bytes));
  scratch_ = arena.take(kMedianScratchRows * pitch_);
  const bool together = layout.along.x == layout.lanes.n && (layout.lanes.n == 1 || layout.lanes.x == 1);
  if (!together || !in_line || plan.unwanted.value) return;
  direct_ = median_kernel(plan.job.x.dtype, size_of(plan));
  past_caches_ = element_count(plan.job.y.shape) * plan.bytes >= stream_bytes;
}

bool MedianRows::is_direct(index_t outputs) const {
  return direct_ != nullptr && outputs * plan_.lane_step * plan_.bytes >= kRankVectorBytes;
}

void MedianRows::select(const void* const* rows, index_t outputs, index_t lanes) {
  const index_t vector = kRankVectorBytes / plan_.bytes;
  keys_({.rows = rows,
         .y = reinterpret_cast<void* const*>(found_.data()),
         .outputs = outputs,
         .step = plan_.layout.along.axis.dilation * plan_.lane_step,
         .lanes = ceil_div(lanes, vector) * vector,
         .scratch = scratch_,
         .pitch = pitch_});
}

void MedianRows::run(index_t slice, Range rows, Range outputs) {
  const index_t most = past_caches_ ? kLines : kMedianRows;
  for (index_t row = rows.begin; row < rows.end; row += most)
    run_strip(slice, {row, std::min(row + most, rows.end)}, outputs);
}

void MedianRows::run_strip(index_t slice, Range rows, Range outputs) {
  const RankLayout& layout = plan_.layout;
  const Axis &along = layout.along.axis, &down = layout.down.axis;
  const index_t bytes = plan_.bytes, inputs = rows.size() + down.kernel - 1;
  const auto* x = static_cast<const std::byte*>(plan_.job.x.data);
  auto* y = static_cast<std::byte*>(plan_.job.y.data);
  const index_t deep = layout.deep.number < 0 ? 0 : layout.deep.axis.at(slice, 0) * layout.deep.x;
  const index_t place =
      plane_.x() + deep + down.start(rows.begin) * layout.down.x + along.start(outputs.begin) * layout.along.x;
  std::array<const void*, kMedianRows + 4> from;
  std::array<void*, kMedianRows> to;
  for (index_t r = 0; r < inputs; ++r) from[at(r)] = x + (place + r * layout.down.x) * bytes;
  for (index_t r = 0; r < rows.size(); ++r) {
    std::byte* const row = y + plane_.y_of(slice, rows.begin + r, outputs) * bytes;
    to[at(r)] = past_caches_ ? found_[at(r)] : row;
  }
  MedianStrip strip{.rows = from.data(), .y = to.data(), .outputs = rows.size(), .scratch = scratch_, .pitch = pitch_};
  strip.step = along.dilation * plan_.lane_step;
  strip.lanes = outputs.size() * plan_.lane_step;
  strip.next = layout.down.x * bytes;
  const std::uint64_t special = direct_(strip);
  for (index_t r = 0; past_caches_ && r < rows.size(); ++r) {
    if ((special >> (r / 2) & 1) != 0) continue;
    writer_.write(found_[at(r)], strip.lanes * bytes, y + plane_.y_of(slice, rows.begin + r, outputs) * bytes);
  }
  for (index_t r = 0; r < rows.size() && special != 0; r += 2) {
    const Range band{std::min(r, std::max<index_t>(0, rows.size() - 2)), std::min(r + 2, rows.size())};
    if ((special >> (r / 2) & 1) != 0)
      plane_.run_apart(slice, {rows.begin + band.begin, rows.begin + band.end}, outputs);
  }
}

}  // namespace oriel::cpu
