#include "cpu/box_gradient/overlap_box.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

bool overlaps(const OverlapJob& job) {
  const PooledAxis& row = job.layout.axis[at(job.layout.pooled() - 1)];
  const bool is_lane = job.problem.dtype == Dtype::f32 || job.problem.dtype == Dtype::f64;
  return is_lane && job.layout.lanes.n == 1 && job.code_step[0] == 1 && row.axis.dilation == 1 && row.axis.first <= 0 &&
         row.pitch[job.dx] == 1 && (!job.from_x || row.pitch[kX] == 1) && is_overlap(row.axis.kernel, row.axis.stride);
}

OverlapBox::OverlapBox(const OverlapJob& job, const PlaceCoords& inputs, const PlaceCoords& outputs, Arena& arena)
    : layout_(job.layout),
      dx_(job.dx),
      step_(job.code_step),
      elem_(size_bytes(job.problem.dtype)),
      last_(job.layout.pooled() - 1) {
  if (!overlaps(job)) return;
  k_ = overlap_table().kernels(job.problem.pool.op, job.problem.dtype);
  if (!takes()) return;
  index_t rows = 1, input_rows = 1, taps = 1;
  for (int a = 0; a < last_; ++a) {
    rows *= outputs[at(a)];
    input_rows *= inputs[at(a)];
    taps *= outputs[at(a)] * layout_.axis[at(a)].axis.kernel;
  }
  taps_.begin = arena.take_array<index_t>(rows + 1);
  taps_.all = arena.take_array<OverlapTap>(taps);
  offset_ = arena.take_array<index_t>(input_rows);
}

void OverlapBox::set(const PlaceBox& inputs, const PlaceBox& outputs) {
  list_taps(outputs);
  each_row(inputs, last_, [&](const PlaceCoords& i, index_t r) { offset_[r] = offset_of(layout_, i, dx_) * elem_; });
  const Axis& row = layout_.axis[at(last_)].axis;
  const Range in = inputs[at(last_)], out = outputs[at(last_)];
  const index_t first = row.start(out.begin);
  const int kernel = static_cast<int>(row.kernel), stride = static_cast<int>(row.stride);
  chosen_ = {row.in, out.size(), first, kernel, stride};
  gathered_ = {in.size(), out.size(), first - in.begin, kernel, stride};
}

// In scan order.
void OverlapBox::list_taps(const PlaceBox& outputs) {
  PlaceCoords pitch{};
  for (int a = 0; a < last_; ++a) pitch[at(a)] = layout_.axis[at(a)].pitch[kX] * elem_;
  index_t count = 0;
  taps_.rows = row_count(outputs, last_);
  each_row(outputs, last_, [&](const PlaceCoords& o, index_t r) {
    taps_.begin[r] = count;
    const auto taps = [&](int a) { return layout_.axis[at(a)].axis.taps(o[at(a)]); };
    count += list_reads(layout_, o, pitch, step_, taps, taps_.all + count);
  });
  taps_.begin[taps_.rows] = count;
}

bool OverlapBox::choose(const std::byte* x, const OverlapRows& rows) const {
  return k_.choose(x, taps_, chosen_, rows);
}

void OverlapBox::gather(const OverlapRows& rows, const OverlapList<OverlapReader>& readers, bool stream,
                        std::byte* dx) const {
  k_.gather(rows, readers, gathered_, stream, dx, offset_);
}

}  // namespace oriel::cpu
