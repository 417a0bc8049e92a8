// One thread's part of a gradient whose inputs gather, box by box, from the windows whose extremum they are.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "cpu/argmax/box_folder.h"
#include "cpu/box_gradient/gather_kernels.h"
#include "cpu/box_gradient/overlap_box.h"
#include "cpu/recipe/kernels.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {

// What a call works on. Places come from x, or from `index` where x is null; pitches of dx are those of an operand that
// the layout knows by another name.
struct BoxGradientJob {
  const Problem& problem;
  RowLayout layout;
  const void* x;
  const std::int64_t* index;
  IndexSpace space;
  const void* dy;
  void* dx;
  Operand dx_pitch;
  index_t dense_dy_bytes;  // 0 where dy has gaps
};

class BoxGatherer {
 public:
  static OverlapJob overlap_job(const BoxGradientJob& job) {
    return {job.problem, job.layout, job.dx_pitch, code_steps(job), job.x != nullptr};
  }

  BoxGatherer(const BoxGradientJob& job, const PlaceCoords& inputs, Arena& arena)
      : job_(job),
        layout_(job.layout),
        arena_(arena),
        elem_(size_bytes(job.problem.dtype)),
        lane_(job.problem.dtype == Dtype::f64 ? Lane::f64 : Lane::f32),
        bytes_(size_bytes(lane_)),
        k_(gather_table().gather(lane_)),
        step_(code_steps(job)),
        most_(most_outputs(job.layout, inputs)),
        overlap_(overlap_job(job), inputs, most_, arena) {
    index_t taps = 1, rows = 1;
    for (int a = last_; a >= 0; --a) {
      taps *= axis(a).kernel;
      if (a == last_) continue;
      rows *= most_[at(a)];
      readers_[at(a)] = arena.take_array<Readers>(inputs[at(a)]);
    }
    const Axis& row = layout_.axis[at(last_)].axis;
    const index_t elems =
        (inputs[at(last_)] / row.stride + most_[at(last_)] + 2 * (row.extent() / row.stride + 3)) * lanes_;
    const index_t slack = 2 * k_.vector_bytes;
    const index_t room = elems * bytes_;
    code_ = arena.take(rows * room + slack);
    dy_ = arena.take(rows * room + slack);
    const index_t width = inputs[at(last_)] * lanes_ * bytes_ + slack;
    result_ = arena.take(width);
    phase_ = arena.take(width + lanes_ * bytes_);
    spare_ = arena.take(elems * 8 + slack);
    narrow_ = arena.take(elems * 8 + slack);
    terms_ = arena.take_array<PlaceTerm>(taps);
    row_dy_ = arena.take_array<const std::byte*>(rows);
    if (job.x == nullptr) {
      for (auto** list : {&base_, &low_, &high_}) *list = arena.take_array<std::int32_t>(elems);
    }
  }

  // Whether every index of a box of outputs is of its window.
  bool check(index_t plane, const PlaceBox& outputs) {
    for (Operand operand : {kX, kY, kIndex, kFlat}) plane_[operand] = layout_.plane_offset(plane, operand);
    outputs_ = outputs;
    row_bytes_ = before_ = after_ = 0;  // all rows of codes in one place: they are only looked at
    shifts_of_ = {};
    return codes_from_indices(true);
  }

  void run(index_t plane, const PlaceBox& inputs) {
    for (Operand operand : {kX, kY, kIndex, kFlat}) plane_[operand] = layout_.plane_offset(plane, operand);
    inputs_ = inputs;
    bool fed = true;
    for (int a = 0; a <= last_; ++a) {
      outputs_[at(a)] = layout_.axis[at(a)].axis.feeds(inputs[at(a)]);
      fed &= !outputs_[at(a)].empty();
    }
    if (fed) {
      set_shifts();
      if (overlap_.takes()) {
        overlap_.set(inputs_, outputs_);
      } else {
        for (int a = 0; a < last_; ++a) set_readers(a);
      }
      if (job_.x != nullptr)
        codes_from_x();
      else
        codes_from_indices(false);
      load_dy();
    }
    if (fed && overlap_.takes()) {
      overlap_.gather(overlap_rows(), stream_, static_cast<std::byte*>(job_.dx) + plane_[job_.dx_pitch] * elem_);
    } else {
      each_input_row([&](const PlaceCoords& i, index_t) { write_row(i, fed); });
    }
  }

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  // What one tap of each axis adds to a code, from the last axis on.
  static PlaceCoords code_steps(const BoxGradientJob& job) {
    PlaceCoords step{};
    const int last = job.layout.pooled() - 1;
    for (index_t a = last, radix = 1; a >= 0; --a) {
      const PooledAxis& p = job.layout.axis[at(a)];
      step[at(last - a)] = job.x != nullptr                  ? index_t{1} << (kPlaceBits * (last - a))
                           : job.space == IndexSpace::window ? radix
                                                             : p.axis.dilation * p.pitch[kFlat];
      radix *= p.axis.kernel;
    }
    return step;
  }

  // The most outputs that windows over so many inputs have.
  static PlaceCoords most_outputs(const RowLayout& layout, const PlaceCoords& inputs) {
    PlaceCoords most{1, 1, 1};
    for (int a = 0; a < layout.pooled(); ++a) {
      const Axis& axis = layout.axis[at(a)].axis;
      most[at(a)] = std::min(axis.out, (inputs[at(a)] + axis.extent() - 2) / axis.stride + 1);
    }
    return most;
  }

  const Axis& axis(int a) const { return layout_.axis[at(a)].axis; }
  index_t row_elems() const { return outputs_[at(last_)].size() * lanes_; }
  std::byte* code_row(index_t r) const { return code_ + r * row_bytes_ + before_ * bytes_; }
  std::byte* dy_row(index_t r) const { return dy_ + r * row_bytes_ + before_ * bytes_; }

  index_t row_count() const {  // of outputs
    index_t rows = 1;
    for (int a = 0; a < last_; ++a) rows *= outputs_[at(a)].size();
    return rows;
  }

  // Calls body(coordinates from the box's begin, number) for every row of outputs; stops where it gives false.
  template <class Body>
  bool each_row(const Body& body) {
    PlaceCoords o{};
    const index_t rows = row_count();
    for (index_t r = 0; r < rows; ++r) {
      if (!body(o, r)) return false;
      for (int a = last_ - 1; a >= 0 && ++o[at(a)] == outputs_[at(a)].size(); --a) o[at(a)] = 0;
    }
    return true;
  }

  // Calls body(coordinates from the box's begin, number) for every row of inputs.
  template <class Body>
  void each_input_row(const Body& body) {
    PlaceCoords i{};
    index_t rows = 1;
    for (int a = 0; a < last_; ++a) rows *= inputs_[at(a)].size();
    for (index_t r = 0; r < rows; ++r) {
      body(i, r);
      for (int a = last_ - 1; a >= 0 && ++i[at(a)] == inputs_[at(a)].size(); --a) i[at(a)] = 0;
    }
  }

  index_t offset(const PlaceCoords& o, const PlaceBox& box, Operand operand) const {
    index_t sum = plane_[operand];
    for (int a = 0; a <= last_; ++a) {
      sum += (box[at(a)].begin + (a < last_ ? o[at(a)] : 0)) * layout_.axis[at(a)].pitch[operand];
    }
    return sum;
  }

  // Of every phase of the row's inputs, which taps read them, and from which element of a row of outputs on, in
  // ascending order.
  void set_shifts() {
    const Range in = inputs_[at(last_)], out = outputs_[at(last_)];
    if (in == shifts_of_) return;
    shifts_of_ = in;
    closed_rows_ = 0;
    const Axis& row = axis(last_);
    const index_t steps = (in.size() + row.stride - 1) / row.stride;
    index_t least = 0, most = 0;
    shift_count_ = 0;
    for (index_t q = 0; q < row.stride; ++q) {
      for (index_t t = row.kernel - 1; t >= 0; --t) {
        if (!row.reads(in.begin + q, t)) continue;
        const index_t from = row.reader(in.begin + q, t) - out.begin;
        shift_[at(shift_count_++)] = {q, t * step_[0], from};
        least = std::min(least, from);
        most = std::max(most, from + steps - out.size());
      }
    }
    for (index_t s = 0; s < shift_count_; ++s) shift_[at(s)].offset = (shift_[at(s)].offset - least) * lanes_ * bytes_;
    before_ = -least * lanes_;
    after_ = most * lanes_;
    row_bytes_ = (before_ + row_elems() + after_) * bytes_;
  }

  // No code beside a row, so that what is added from there is nothing.
  void close_row(index_t r) {
    std::memset(code_row(r) - before_ * bytes_, 0xff, at(before_ * bytes_));
    std::memset(code_row(r) + row_elems() * bytes_, 0xff, at(after_ * bytes_));
  }

  PlaceFolder& folder(bool exact) {
    std::optional<PlaceFolder>& which = exact ? exact_ : folder_;
    if (!which) which.emplace(job_.problem, layout_, most_, step_, exact, arena_);
    return *which;
  }

  void codes_from_x() {
    const bool special = overlap_.takes();
    if (special && choose()) return;
    const std::byte* x = static_cast<const std::byte*>(job_.x) + plane_[kX] * elem_;
    PlaceFolder* folder = &this->folder(special);
    if (!folder->prepare(x, outputs_)) {
      folder = &this->folder(true);
      folder->prepare(x, outputs_);
    }
    const index_t code_bytes = folder->kernels().value_bytes;
    each_row([&](const PlaceCoords& o, index_t r) {
      std::byte* to = code_row(r);
      folder->fold(o, spare_, code_bytes == bytes_ ? to : narrow_);
      if (code_bytes != bytes_) k_.widen(narrow_, code_bytes, row_elems(), to);
      close_row(r);
      return true;
    });
    closed_rows_ = 0;
  }

  // False where a row holds a NaN.
  bool choose() {
    const index_t rows = row_count();
    for (; closed_rows_ < rows; ++closed_rows_) close_row(closed_rows_);
    return overlap_.choose(static_cast<const std::byte*>(job_.x) + plane_[kX] * elem_, overlap_rows());
  }

  OverlapRows overlap_rows() const { return {code_row(0), row_bytes_, row_dy_}; }

  // What the indices of a row's outputs are counted from, and where their columns may lie.
  void set_columns() {
    if (outputs_[at(last_)] == columns_of_) return;
    columns_of_ = outputs_[at(last_)];
    const Axis& row = axis(last_);
    const bool window = job_.space == IndexSpace::window;
    for (index_t p = 0; p < columns_of_.size(); ++p) {
      const index_t o = columns_of_.begin + p;
      const Range taps = row.taps(o);
      for (index_t l = 0; l < lanes_; ++l) {
        const index_t i = p * lanes_ + l;
        const index_t base =
            window ? 0 : row.start(o) * layout_.axis[at(last_)].pitch[kFlat] + l * layout_.lanes.pitch[kFlat];
        base_[i] = static_cast<std::int32_t>(base);
        low_[i] = static_cast<std::int32_t>(taps.begin * step_[0]);
        high_[i] = static_cast<std::int32_t>((taps.end - 1) * step_[0]);
      }
    }
  }

  // With `check`, false when an index is not of its window.
  bool codes_from_indices(bool check) {
    set_columns();
    const index_t pitch = layout_.axis[at(last_)].pitch[kIndex], lane_pitch = layout_.lanes.pitch[kIndex];
    const index_t positions = outputs_[at(last_)].size();
    const bool dense = (lanes_ == 1 || lane_pitch == 1) && (positions == 1 || pitch == lanes_);
    const PlaceColumns columns = {low_, high_, static_cast<std::int32_t>(step_[0])};
    return each_row([&](const PlaceCoords& o, index_t r) {
      const std::int64_t* index = job_.index + offset(o, outputs_, kIndex);
      if (!dense) {
        std::int64_t* row = reinterpret_cast<std::int64_t*>(spare_);
        for (index_t p = 0; p < positions; ++p) {
          for (index_t l = 0; l < lanes_; ++l) row[p * lanes_ + l] = index[p * pitch + l * lane_pitch];
        }
        index = row;
      }
      std::int32_t rows[kMostPlaceTaps * kMostPlaceTaps];
      const int count = check ? row_places(o, rows) : 0;
      const bool good = k_.relative(index, base_, row_elems(), origin(o), rows, count, columns,
                                    reinterpret_cast<std::int32_t*>(narrow_), code_row(r));
      close_row(r);
      return good;
    });
  }

  // The codes of the first column in every row that a row of outputs reads.
  int row_places(const PlaceCoords& o, std::int32_t* rows) const {
    rows[0] = 0;
    int count = 1;
    for (int a = last_ - 1; a >= 0; --a) {
      const Range taps = axis(a).taps(outputs_[at(a)].begin + o[at(a)]);
      const int before = count;
      for (index_t t = taps.end - 1; t >= taps.begin; --t) {  // the first last: it replaces what it begins with
        for (int i = 0; i < before; ++i) {
          const index_t place = rows[i] + t * step_[at(last_ - a)];
          rows[(t - taps.begin) * before + i] = static_cast<std::int32_t>(place);
        }
      }
      count = before * static_cast<int>(taps.size());
    }
    return count;
  }

  // What the indices of a row of outputs count from.
  index_t origin(const PlaceCoords& o) const {
    if (job_.space == IndexSpace::window) return 0;
    index_t sum = plane_[kFlat];
    for (int a = 0; a < last_; ++a) {
      sum += axis(a).start(outputs_[at(a)].begin + o[at(a)]) * layout_.axis[at(a)].pitch[kFlat];
    }
    return sum;
  }

  void load_dy() {
    const index_t positions = outputs_[at(last_)].size();
    const index_t pitch = layout_.axis[at(last_)].pitch[kY], lane_pitch = layout_.lanes.pitch[kY];
    const bool dense = (lanes_ == 1 || lane_pitch == 1) && (positions == 1 || pitch == lanes_);
    const LiftRow lift = kernels().lift(Lift::widen, job_.problem.dtype, lane_);
    each_row([&](const PlaceCoords& o, index_t r) {
      const std::byte* dy = static_cast<const std::byte*>(job_.dy) + offset(o, outputs_, kY) * elem_;
      row_dy_[r] = dy_row(r);
      if (overlap_.takes() && dense && is_inside(dy)) {
        row_dy_[r] = dy;
      } else if (dense && elem_ == bytes_) {
        std::memcpy(dy_row(r), dy, at(row_elems() * bytes_));
      } else {
        lift(dy, pitch, lane_pitch, positions, lanes_, {dy_row(r), nullptr}, {});
      }
      return true;
    });
  }

  // Whether a row of dy may be read where it lies: what is beyond its ends is of dy too.
  bool is_inside(const std::byte* dy) const {
    const std::byte* first = static_cast<const std::byte*>(job_.dy);
    return dy - overlap_.bytes_before() >= first && dy + overlap_.bytes_from() <= first + job_.dense_dy_bytes;
  }

  // Rows of outputs that read a row of inputs, and the code of their tap in column 0.
  struct Reader {
    index_t row;
    index_t code;
  };
  struct Readers {
    Reader by[kMostPlaceTaps];
    int count;
  };

  // Who reads the inputs of an axis of rows, in ascending order.
  void set_readers(int a) {
    if (inputs_[at(a)] == readers_of_[at(a)]) return;
    readers_of_[at(a)] = inputs_[at(a)];
    const index_t begin = inputs_[at(a)].begin, n = inputs_[at(a)].size();
    for (index_t i = 0; i < n; ++i) readers_[at(a)][i].count = 0;
    for (index_t o = outputs_[at(a)].begin; o < outputs_[at(a)].end; ++o) {
      for (index_t t = 0; t < axis(a).kernel; ++t) {
        const index_t i = axis(a).at(o, t) - begin;
        if (i < 0 || i >= n) continue;
        Readers& r = readers_[at(a)][i];
        r.by[r.count++] = {o - outputs_[at(a)].begin, t * step_[at(last_ - a)]};
      }
    }
  }

  int readers(const PlaceCoords& i, Reader* out) const {
    if (last_ == 0) {
      out[0] = {0, 0};
      return 1;
    }
    const Readers& inner = readers_[at(last_ - 1)][i[at(last_ - 1)]];
    int count = 0;
    if (last_ == 1) {
      for (; count < inner.count; ++count) out[count] = inner.by[count];
      return count;
    }
    const Readers& outer = readers_[0][i[0]];
    for (int p = 0; p < outer.count; ++p) {
      const index_t first = outer.by[p].row * outputs_[1].size();
      for (int r = 0; r < inner.count; ++r) {
        out[count++] = {first + inner.by[r].row, outer.by[p].code + inner.by[r].code};
      }
    }
    return count;
  }

  // The terms of every phase: in ascending order of rows, then of columns.
  void set_terms(const PlaceCoords& i, bool fed) {
    Reader by[kMostPlaceTaps * kMostPlaceTaps];
    const int rows = fed ? readers(i, by) : 0;
    PlaceTerm* term = terms_;
    const Shift* shift = shift_.data();
    const Shift* end = shift + (fed ? shift_count_ : 0);
    for (index_t q = 0; q < stride_; ++q) {
      const Shift* mine = shift;
      while (shift != end && shift->phase == q) ++shift;
      PlaceTerm* first = term;
      for (int r = 0; r < rows; ++r) {
        const index_t row = by[r].row * row_bytes_;
        for (const Shift* s = mine; s != shift; ++s) {
          *term++ = {code_ + row + s->offset, dy_ + row + s->offset, by[r].code + s->code};
        }
      }
      phases_[at(q)] = {first, static_cast<int>(term - first)};
    }
  }

  void write_row(const PlaceCoords& i, bool fed) {
    const Operand operand = job_.dx_pitch;
    set_terms(i, fed);
    const index_t n = inputs_[at(last_)].size(), pitch = layout_.axis[at(last_)].pitch[operand];
    const index_t lane_pitch = layout_.lanes.pitch[operand];
    std::byte* dx = static_cast<std::byte*>(job_.dx) + offset(i, inputs_, operand) * elem_;
    const bool direct = elem_ == bytes_ && (lanes_ == 1 || lane_pitch == 1) && (n == 1 || pitch == lanes_);
    gather_row(n, direct ? dx : result_);
    if (direct) return;
    kernels().lower(Lower::gradient, lane_, job_.problem.dtype)({result_, nullptr, 0}, n, lanes_, {}, dx, pitch,
                                                                lane_pitch);
  }

  void gather_row(index_t n, std::byte* out) const {
    const index_t stride = axis(last_).stride;
    if (stride == 1 || (lanes_ == 1 && stride <= 4)) {
      return k_.flat(phases_.data(), static_cast<int>(stride), n * lanes_, stream_ && out != result_, out);
    }
    const bool in_place = lanes_ * bytes_ >= k_.vector_bytes && lanes_ > 1;
    for (index_t q = 0; q < std::min(stride, n); ++q) {
      const index_t positions = (n - q + stride - 1) / stride;
      std::byte* to = out + q * lanes_ * bytes_;
      if (in_place) {
        k_.positions(phases_[at(q)], positions, lanes_, stride * lanes_, to);
        continue;
      }
      k_.flat(&phases_[at(q)], 1, positions * lanes_, false, phase_);
      for (index_t p = 0; p < positions; ++p) {
        std::memcpy(to + p * stride * lanes_ * bytes_, phase_ + p * lanes_ * bytes_, at(lanes_ * bytes_));
      }
    }
  }

  struct Shift {
    index_t phase;
    index_t code;
    index_t offset;  // bytes from the begin of a row's margin
  };

  const BoxGradientJob& job_;
  const RowLayout& layout_;
  Arena& arena_;
  const index_t elem_;
  const Lane lane_;  // of accumulators
  const index_t bytes_;
  const GatherKernels k_;
  const int last_ = layout_.pooled() - 1;
  const index_t lanes_ = layout_.lanes.n;
  const bool stream_ = element_count(job_.problem.shape) * elem_ >= stream_bytes;
  const index_t stride_ = axis(last_).stride;
  const PlaceCoords step_;  // what one tap adds to a code, from the last axis on
  const PlaceCoords most_;
  OverlapBox overlap_;
  index_t closed_rows_ = 0;  // rows of codes whose margins hold none
  std::optional<PlaceFolder> folder_, exact_;
  Pitches plane_{};  // where the plane begins
  PlaceBox inputs_{}, outputs_{};
  Range shifts_of_{}, columns_of_{};
  PlaceBox readers_of_{};
  std::array<Readers*, kMostPlaceAxes> readers_{};  // by input
  std::array<Shift, kMostPlaceTaps> shift_;
  index_t shift_count_ = 0;
  std::array<PlaceTerms, 64> phases_;
  // Rows of outputs, with margins before and after, elements:
  index_t before_ = 0, after_ = 0, row_bytes_ = 0;
  std::byte* code_ = nullptr;
  std::byte* dy_ = nullptr;
  const std::byte** row_dy_ = nullptr;  // where overlap kernels find the rows of dy
  std::byte* result_ = nullptr;
  std::byte* phase_ = nullptr;
  std::byte* spare_ = nullptr;
  std::byte* narrow_ = nullptr;
  PlaceTerm* terms_ = nullptr;
  std::int32_t* base_ = nullptr;
  std::int32_t* low_ = nullptr;
  std::int32_t* high_ = nullptr;
};

}  // namespace oriel::cpu
