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
    taps *= outputs[at(a)] * axis(a).kernel;
  }
  taps_.begin = arena.take_array<index_t>(rows + 1);
  taps_.all = arena.take_array<OverlapTap>(taps);
  readers_.begin = arena.take_array<index_t>(input_rows + 1);
  readers_.all = arena.take_array<OverlapReader>(taps);
  offset_ = arena.take_array<index_t>(input_rows);
}

// Calls body(coordinates, number) for every row of a box.
template <class Body>
void OverlapBox::each_row(const PlaceBox& box, const Body& body) const {
  PlaceCoords c{};
  index_t rows = 1;
  for (int a = 0; a < last_; ++a) {
    c[at(a)] = box[at(a)].begin;
    rows *= box[at(a)].size();
  }
  for (index_t r = 0; r < rows; ++r) {
    body(c, r);
    for (int a = last_ - 1; a >= 0 && ++c[at(a)] == box[at(a)].end; --a) c[at(a)] = box[at(a)].begin;
  }
}

void OverlapBox::set(const PlaceBox& inputs, const PlaceBox& outputs) {
  if (inputs == inputs_) return;
  inputs_ = inputs;
  outputs_ = outputs;
  list_taps();
  list_readers();
  const Axis& row = axis(last_);
  const Range in = inputs[at(last_)], out = outputs[at(last_)];
  const index_t first = row.start(out.begin);
  const int kernel = static_cast<int>(row.kernel), stride = static_cast<int>(row.stride);
  chosen_ = {row.in, out.size(), first, kernel, stride};
  gathered_ = {in.size(), out.size(), first - in.begin, kernel, stride};
}

// In scan order.
void OverlapBox::list_taps() {
  index_t count = 0;
  taps_.rows = 0;
  each_row(outputs_, [&](const PlaceCoords& o, index_t r) {
    taps_.begin[r] = count;
    taps_.all[count] = {0, 0};
    index_t listed = 1;
    for (int a = last_ - 1; a >= 0; --a) {  // the inner axis first; each is replaced by those that it becomes
      const Range taps = axis(a).taps(o[at(a)]);
      for (index_t t = taps.end - 1; t >= taps.begin; --t) {
        const index_t offset = axis(a).at(o[at(a)], t) * pitch(a, kX) * elem_, code = t * step_[at(last_ - a)];
        for (index_t i = 0; i < listed; ++i) {
          const OverlapTap& tap = taps_.all[count + i];
          taps_.all[count + (t - taps.begin) * listed + i] = {tap.offset + offset, tap.code + code};
        }
      }
      listed *= taps.size();
    }
    count += listed;
    taps_.rows = r + 1;
  });
  taps_.begin[taps_.rows] = count;
}

// In ascending order of outputs.
void OverlapBox::list_readers() {
  index_t count = 0;
  readers_.rows = 0;
  each_row(inputs_, [&](const PlaceCoords& i, index_t r) {
    readers_.begin[r] = count;
    offset_[r] = inputs_[at(last_)].begin * pitch(last_, dx_) * elem_;
    for (int a = 0; a < last_; ++a) offset_[r] += i[at(a)] * pitch(a, dx_) * elem_;
    const Range none = {0, 1};
    const Range outer = last_ > 1 ? axis(0).feeds(i[0]) : none;
    const Range inner = last_ > 0 ? axis(last_ - 1).feeds(i[at(last_ - 1)]) : none;
    for (index_t o = outer.begin; o < outer.end; ++o) {
      const index_t outer_tap = last_ > 1 ? axis(0).tap_of(o, i[0]) : 0;
      for (index_t p = inner.begin; p < inner.end; ++p) {
        const index_t tap = last_ > 0 ? axis(last_ - 1).tap_of(p, i[at(last_ - 1)]) : 0;
        if (outer_tap < 0 || tap < 0) continue;
        const index_t row = last_ > 0 ? p - outputs_[at(last_ - 1)].begin : 0;
        const index_t plane = last_ > 1 ? (o - outputs_[0].begin) * outputs_[1].size() : 0;
        readers_.all[count++] = {plane + row, outer_tap * step_[2] + tap * step_[1]};
      }
    }
    readers_.rows = r + 1;
  });
  readers_.begin[readers_.rows] = count;
}

bool OverlapBox::choose(const std::byte* x, const OverlapRows& rows) const {
  return k_.choose(x, taps_, chosen_, rows);
}

void OverlapBox::gather(const OverlapRows& rows, bool stream, std::byte* dx) const {
  k_.gather(rows, readers_, gathered_, stream, dx, offset_);
}

}  // namespace oriel::cpu
