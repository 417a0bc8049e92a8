#include "cpu/box_gradient/box_gatherer.h"

#include <algorithm>
#include <cstring>

#include "cpu/recipe/kernels.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The most outputs that windows over so many inputs have.
PlaceCoords most_outputs(const RowLayout& layout, const PlaceCoords& inputs) {
  PlaceCoords most{1, 1, 1};
  for (int a = 0; a < layout.pooled(); ++a) {
    const Axis& axis = layout.axis[at(a)].axis;
    most[at(a)] = std::min(axis.out, (inputs[at(a)] + axis.extent() - 2) / axis.stride + 1);
  }
  return most;
}

}  // namespace

PlaceCoords BoxGradientJob::code_steps() const {
  if (x == nullptr) return IndexRule{layout, space}.steps();
  PlaceCoords step{};
  for (int a = 0; a < layout.pooled(); ++a) step[at(a)] = index_t{1} << (kPlaceBits * a);
  return step;
}

BoxGatherer::BoxGatherer(const BoxGradientJob& job, const PlaceCoords& inputs, Arena& arena)
    : job_(job),
      layout_(job.layout),
      arena_(arena),
      elem_(size_bytes(job.problem.dtype)),
      lane_(job.problem.dtype == Dtype::f64 ? Lane::f64 : Lane::f32),
      bytes_(size_bytes(lane_)),
      k_(gather_table().gather(lane_)),
      last_(layout_.pooled() - 1),
      lanes_(layout_.lanes.n),
      stream_(element_count(job.problem.shape) * elem_ >= stream_bytes),
      most_(most_outputs(layout_, inputs)),
      overlap_(overlap_job(job), inputs, most_, arena),
      readers_(layout_, job.code_steps(), inputs, most_, arena),
      terms_(layout_, job.code_steps(), bytes_, arena) {
  index_t rows = 1;
  for (int a = 0; a < last_; ++a) rows *= most_[at(a)];
  const Axis& row = layout_.axis[at(last_)].axis;
  const index_t elems =
      (inputs[at(last_)] / row.stride + most_[at(last_)] + 2 * (row.extent() / row.stride + 3)) * lanes_;
  const index_t slack = 2 * k_.vector_bytes, width = inputs[at(last_)] * lanes_ * bytes_ + slack;
  rows_.elem = bytes_;
  rows_.codes = arena.take(rows * elems * bytes_ + slack);
  rows_.gradients = arena.take(rows * elems * bytes_ + slack);
  gradient_ = arena.take_array<const std::byte*>(rows);
  result_ = arena.take(width);
  phase_ = arena.take(width + lanes_ * bytes_);
  if (job.x == nullptr) {
    indices_.emplace(layout_, job.space, job.index, k_, most_[at(last_)], elems, arena);
  } else {
    value_ = arena.take(elems * 8 + slack);
    code_ = arena.take(elems * 8 + slack);
  }
}

bool BoxGatherer::check(index_t plane, const PlaceBox& outputs) {
  plane_ = layout_.plane_offsets(plane);
  outputs_ = outputs;
  rows_.row = rows_.before = rows_.after = 0;  // all rows of codes in one place: they are only looked at
  return codes_from_indices(true);
}

void BoxGatherer::run(index_t plane, const PlaceBox& inputs) {
  plane_ = layout_.plane_offsets(plane);
  if (!(inputs == inputs_)) set_box(inputs);
  if (fed_) {
    if (job_.x != nullptr)
      codes_from_x();
    else
      codes_from_indices(false);
    load_gradients();
  }
  if (fed_ && overlap_.takes()) {
    overlap_.gather(overlap_rows(), readers_.all(), stream_,
                    static_cast<std::byte*>(job_.dx) + plane_[job_.dx_pitch] * elem_);
  } else {
    each_row(inputs_, last_, [&](const PlaceCoords& i, index_t r) { write_row(i, r); });
  }
}

void BoxGatherer::set_box(const PlaceBox& inputs) {
  inputs_ = inputs;
  fed_ = true;
  for (int a = 0; a <= last_; ++a) {
    outputs_[at(a)] = layout_.axis[at(a)].axis.feeds(inputs[at(a)]);
    fed_ &= !outputs_[at(a)].empty();
  }
  if (!fed_) return;
  if (terms_.set_row(inputs[at(last_)], outputs_[at(last_)], rows_)) closed_rows_ = 0;
  readers_.list(inputs, outputs_);
  if (overlap_.takes()) overlap_.set(inputs, outputs_);
}

PlaceFolder& BoxGatherer::folder(bool exact) {
  std::optional<PlaceFolder>& which = exact ? exact_ : folder_;
  if (!which) which.emplace(job_.problem, layout_, most_, job_.code_steps(), exact, arena_);
  return *which;
}

void BoxGatherer::codes_from_x() {
  const bool special = overlap_.takes();
  if (special && choose()) return;
  const std::byte* x = static_cast<const std::byte*>(job_.x) + plane_[kX] * elem_;
  PlaceFolder* folder = &this->folder(special);
  if (!folder->prepare(x, outputs_)) {
    folder = &this->folder(true);
    folder->prepare(x, outputs_);
  }
  const index_t code_bytes = folder->kernels().value_bytes;
  each_row(outputs_, last_, [&](const PlaceCoords& o, index_t r) {
    std::byte* to = rows_.code(r);
    folder->fold(o, value_, code_bytes == bytes_ ? to : code_);
    if (code_bytes != bytes_) k_.widen(code_, code_bytes, rows_.row, to);
    rows_.close(r);
  });
  closed_rows_ = 0;  // folds write beyond the ends of rows
}

// The codes by overlap kernels. False where a row holds a NaN.
bool BoxGatherer::choose() {
  const index_t rows = row_count(outputs_, last_);
  for (; closed_rows_ < rows; ++closed_rows_) rows_.close(closed_rows_);
  return overlap_.choose(static_cast<const std::byte*>(job_.x) + plane_[kX] * elem_, overlap_rows());
}

// With `check`, false when an index is not of its window.
bool BoxGatherer::codes_from_indices(bool check) {
  indices_->set_row(plane_, outputs_[at(last_)]);
  bool good = true;
  each_row(outputs_, last_, [&](const PlaceCoords& o, index_t r) {
    good = good && indices_->read(o, check, rows_.code(r));
    rows_.close(r);
  });
  return good;
}

// The gradients of the box's outputs, as accumulators.
void BoxGatherer::load_gradients() {
  const index_t positions = outputs_[at(last_)].size();
  const bool dense = is_dense_row(layout_, kY, positions);
  const LiftRow lift = kernels().lift(Lift::widen, job_.problem.dtype, lane_);
  each_row(outputs_, last_, [&](const PlaceCoords& o, index_t r) {
    const std::byte* dy = static_cast<const std::byte*>(job_.dy) + (plane_[kY] + offset_of(layout_, o, kY)) * elem_;
    gradient_[r] = rows_.gradient(r);
    if (overlap_.takes() && dense && is_inside(dy)) {
      gradient_[r] = dy;
    } else if (dense && elem_ == bytes_) {
      std::memcpy(rows_.gradient(r), dy, at(rows_.row * bytes_));
    } else {
      lift(dy, layout_.axis[at(last_)].pitch[kY], layout_.lanes.pitch[kY], positions, lanes_,
           {rows_.gradient(r), nullptr}, {});
    }
  });
}

// Whether a row of dy may be read where it lies: what is beyond its ends is of dy too.
bool BoxGatherer::is_inside(const std::byte* dy) const {
  const std::byte* first = static_cast<const std::byte*>(job_.dy);
  return dy - overlap_.bytes_before() >= first && dy + overlap_.bytes_from() <= first + job_.dense_dy_bytes;
}

void BoxGatherer::write_row(const PlaceCoords& i, index_t number) {
  const Operand operand = job_.dx_pitch;
  const OverlapList<OverlapReader>& all = readers_.all();
  const index_t first = fed_ ? all.begin[number] : 0, count = fed_ ? all.begin[number + 1] - first : 0;
  const PlaceTerms* phases = terms_.of(all.all + first, count, rows_);
  const index_t n = inputs_[at(last_)].size();
  std::byte* dx = static_cast<std::byte*>(job_.dx) + (plane_[operand] + offset_of(layout_, i, operand)) * elem_;
  const bool direct = elem_ == bytes_ && is_dense_row(layout_, operand, n);
  gather_row(phases, n, direct ? dx : result_);
  if (direct) return;
  kernels().lower(Lower::gradient, lane_, job_.problem.dtype)(
      {result_, nullptr, 0}, n, lanes_, {}, dx, layout_.axis[at(last_)].pitch[operand], layout_.lanes.pitch[operand]);
}

void BoxGatherer::gather_row(const PlaceTerms* phases, index_t n, std::byte* out) const {
  const index_t stride = layout_.axis[at(last_)].axis.stride;
  if (stride == 1 || (lanes_ == 1 && stride <= 4)) {
    return k_.flat(phases, static_cast<int>(stride), n * lanes_, stream_ && out != result_, out);
  }
  const bool in_place = lanes_ * bytes_ >= k_.vector_bytes && lanes_ > 1;
  for (index_t q = 0; q < std::min(stride, n); ++q) {
    const index_t positions = (n - q + stride - 1) / stride;
    std::byte* to = out + q * lanes_ * bytes_;
    if (in_place) {
      k_.positions(phases[q], positions, lanes_, stride * lanes_, to);
      continue;
    }
    k_.flat(&phases[q], 1, positions * lanes_, false, phase_);
    for (index_t p = 0; p < positions; ++p) {
      std::memcpy(to + p * stride * lanes_ * bytes_, phase_ + p * lanes_ * bytes_, at(lanes_ * bytes_));
    }
  }
}

}  // namespace oriel::cpu
