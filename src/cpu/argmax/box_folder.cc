#include "cpu/argmax/box_folder.h"

#include <cstring>
#include <utility>

#include "byte_order.h"

namespace oriel::cpu {
namespace {

constexpr index_t kSlotBytes = 4096;   // lifted before they are folded along: calls cost something too
constexpr index_t kMostWholeTaps = 9;  // of windows that are folded at once

// The worst value of an extremum, as kernels lift it.
std::array<unsigned char, 8> worst_of(const Problem& problem, bool exact, index_t value_bytes) {
  std::array<unsigned char, 8> bytes{};
  visit(problem.dtype, [&]<class T>() {
    const T worst = problem.pool.op == Op::min ? highest_value<T>() : lowest_value<T>();
    std::memcpy(bytes.data(), &worst, sizeof(T));
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
      const auto bits = static_cast<std::int16_t>(worst.bits);
      const auto key = static_cast<std::int16_t>(bits ^ ((bits >> 15) & 0x7fff));
      const auto wide = static_cast<float>(worst);
      std::memcpy(bytes.data(), exact ? static_cast<const void*>(&wide) : &key, static_cast<std::size_t>(value_bytes));
    }
  });
  return bytes;
}

// Whether lanes fill vectors, so that rows are read where they lie.
bool folds_by_element(const RowLayout& layout, const PlaceKernels& k) {
  return layout.lanes.n * k.value_bytes >= k.vector_bytes && layout.lanes.n > 1 && k.in_place &&
         layout.lanes.pitch[kX] == 1;
}

}  // namespace

LiftedRows::LiftedRows(const Problem& problem, const RowLayout& layout, const PlaceKernels& kernels, bool exact,
                       const PlaceCoords& most, bool whole, index_t step, Arena& arena)
    : layout_(layout),
      k_(kernels),
      lanes_(layout.lanes.n),
      elem_bytes_(size_bytes(problem.dtype)),
      step_(step),
      dense_(is_dense_row(layout, kX, layout.axis.end()[-1].axis.in)),
      worst_(worst_of(problem, exact, kernels.value_bytes)) {
  const int last = layout.pooled() - 1;
  const Axis& row = layout.axis[at(last)].axis;
  index_t rows = 1;
  for (int a = 0; a < last; ++a) rows *= inputs_of(layout.axis[at(a)].axis, most[at(a)]);
  const index_t inputs = inputs_of(row, most[at(last)]), outputs = most[at(last)];
  const index_t reach =
      std::max(outputs + (row.extent() - 1) / row.stride, (std::max<index_t>(0, -row.first) + inputs) / row.stride + 1);
  const index_t slack = 2 * k_.vector_bytes;
  pitch_ = reach * lanes_;
  if (!dense_) raw_ = arena.take(inputs * lanes_ * elem_bytes_);
  if (lanes_ > 1 && row.stride > 1) flat_ = arena.take(inputs * lanes_ * k_.value_bytes + slack);
  slots_ = whole ? rows : std::clamp<index_t>(kSlotBytes / (pitch_ * k_.value_bytes), 1, rows);
  coded_slots_ = whole ? 1 : slots_;
  phase_bytes_ = (slots_ * pitch_ * k_.value_bytes + slack + 63) / 64 * 64;
  lifted_ = arena.take(row.stride * phase_bytes_);
  first_ = arena.take(phase_bytes_);
}

void LiftedRows::set_part(const Axis& part) {
  part_ = part;
  const index_t bytes = k_.value_bytes;
  fill_copies(lifted_, worst_.data(), bytes, part.stride * phase_bytes_ / bytes);
  for (index_t t = 0; t < part.kernel; ++t) {
    tap_[at(t)] = lifted_ + part.phase(t) * phase_bytes_ + part.phase_offset(t) * lanes_ * bytes;
  }
  for (index_t i = 0; i < part.stride; ++i) {
    phase_[at(i)] = lifted_ + part.phase_of(i) * phase_bytes_ + part.phase_element(i) * lanes_ * bytes;
  }
  set_first_codes();
}

// The codes that outputs begin with, which may lack their first taps.
void LiftedRows::set_first_codes() {
  std::memset(first_, 0, at(phase_bytes_));
  first_differs_ = false;
  for (index_t o = 0; o < part_.out; ++o) {
    const index_t tap = part_.taps(o).begin;
    if (tap == 0) continue;
    first_differs_ = true;
    const index_t code = tap * step_;
    const std::byte* low =
        reinterpret_cast<const std::byte*>(&code) + detail::low_bytes(sizeof code, at(k_.value_bytes));
    for (index_t slot = 0; slot < coded_slots_; ++slot) {
      for (index_t l = 0; l < lanes_; ++l)
        std::memcpy(first_ + (slot * pitch_ + o * lanes_ + l) * k_.value_bytes, low, at(k_.value_bytes));
    }
  }
}

// The elements of a row beside each other.
const std::byte* LiftedRows::dense_row(const std::byte* x) {
  if (dense_) return x;
  const index_t pitch = layout_.axis.end()[-1].pitch[kX], lane_pitch = layout_.lanes.pitch[kX];
  std::byte* out = raw_;
  for (index_t p = 0; p < part_.in; ++p) {
    for (index_t l = 0; l < lanes_; ++l) {
      std::memcpy(out, x + (p * pitch + l * lane_pitch) * elem_bytes_, at(elem_bytes_));
      out += elem_bytes_;
    }
  }
  return raw_;
}

bool LiftedRows::lift(const std::byte* x, index_t slot) {
  const index_t bytes = k_.value_bytes, n = part_.in, offset = slot * pitch_ * bytes;
  x = dense_row(x);
  if (lanes_ == 1 || part_.stride == 1) {
    void* rows[kMostPlaceStep];
    for (index_t k = 0; k < part_.stride; ++k) rows[k] = phase_[at(k)] + offset;
    return k_.lift(x, n * lanes_, static_cast<int>(part_.stride), rows);
  }
  // Elements of several lanes: lifted as they stand, then dealt out.
  void* row = flat_;
  const bool special = k_.lift(x, n * lanes_, 1, &row);
  const index_t element = lanes_ * bytes;
  for (index_t k = 0; k < part_.stride; ++k) {
    std::byte* to = phase_[at(k)] + offset;
    for (index_t i = k; i < n; i += part_.stride, to += element) std::memcpy(to, flat_ + i * element, at(element));
  }
  return special;
}

PlaceFolder::PlaceFolder(const Problem& problem, const RowLayout& layout, const PlaceCoords& most,
                         const PlaceCoords& step, bool exact, Arena& arena)
    : layout_(layout),
      k_(argmax_table().places(problem.pool.op, problem.dtype, exact)),
      last_(layout.pooled() - 1),
      lanes_(layout.lanes.n),
      elem_bytes_(size_bytes(problem.dtype)),
      by_element_(folds_by_element(layout, k_)),
      whole_(!by_element_ && problem.taps() <= kMostWholeTaps) {
  for (int a = 0; a <= last_; ++a) {
    step_[at(a)] = k_.value_bytes >= 4 ? step[at(a)] : index_t{1} << (kPlaceBits * a);
  }
  if (!exact && is_floating(problem.dtype)) scan_ = oriel::cpu::kernels().scan(problem.dtype);
  index_t rows = 1;
  for (int a = 0; a < last_; ++a) {
    const index_t inputs = inputs_of(axis(a), most[at(a)]);
    read_[at(a)] = arena.take_array<bool>(inputs);
    all_read_ &= axis(a).dilation == 1 && axis(a).stride <= axis(a).kernel;
    full_[at(a)] = axis(a).full();
    rows *= inputs;
  }
  if (!by_element_) lifted_.emplace(problem, layout, k_, exact, most, whole_, step_[0], arena);
  if (whole_) return;
  row_pitch_ = by_element_ ? most[at(last_)] * lanes_ : lifted_->pitch();
  const index_t bytes = rows * row_pitch_ * k_.value_bytes + 2 * k_.vector_bytes;
  value_ = arena.take(bytes);
  code_ = arena.take(bytes);
}

void PlaceFolder::set_box(const PlaceBox& outputs) {
  for (int a = 0; a <= last_; ++a) {
    if (outputs[at(a)] == box_[at(a)]) continue;
    box_[at(a)] = outputs[at(a)];
    const Axis part = axis(a).slice(outputs[at(a)]);
    const index_t begin = part.in_offset - axis(a).in_offset;
    inputs_[at(a)] = {begin, begin + part.in};
    if (a < last_) {
      find_read_rows(a);
    } else {
      along_ = part;
      if (lifted_) lifted_->set_part(part);
    }
  }
  first_row_ = 0;
  index_t rows = 1;
  for (int a = last_ - 1; a >= 0; --a) {
    rows_per_input_[at(a)] = rows;
    first_row_ += inputs_[at(a)].begin * rows;
    rows *= inputs_[at(a)].size();
  }
}

// Which inputs of an axis some window of the box reads.
void PlaceFolder::find_read_rows(int a) {
  if (all_read_) return;
  const Range in = inputs_[at(a)];
  for (index_t i = in.begin; i < in.end; ++i) {
    bool& is = read_[at(a)][i - in.begin] = false;
    for (index_t t = 0; t < axis(a).kernel; ++t) {
      is |= axis(a).reads(i, t) && box_[at(a)].contains(axis(a).reader(i, t));
    }
  }
}

bool PlaceFolder::is_read(const PlaceCoords& c) const {
  for (int a = 0; a < last_ && !all_read_; ++a) {
    if (!read_[at(a)][c[at(a)] - inputs_[at(a)].begin]) return false;
  }
  return true;
}

bool PlaceFolder::prepare(const std::byte* x, const PlaceBox& outputs) {
  if (!(outputs == box_)) set_box(outputs);
  bool special = false;
  index_t first = 0, lifted = 0;  // rows that are lifted, and not folded yet
  const auto fold_all_lifted = [&] {
    if (lifted > 0) fold_lifted(first, std::exchange(lifted, 0));
  };
  each_row(inputs_, last_, [&](const PlaceCoords& c, index_t r) {
    if (special) return;
    if (!is_read(c)) return fold_all_lifted();
    const std::byte* row = x + offset_of(layout_, c, kX) * elem_bytes_;
    if (by_element_) {
      special = fold_in_place(row, r);
    } else if (whole_) {
      special = lifted_->lift(row, r);
    } else {
      if (lifted == 0) first = r;
      special = lifted_->lift(row, lifted++);
      if (lifted == lifted_->slots()) fold_all_lifted();
    }
  });
  if (!special) fold_all_lifted();
  return !special;
}

// Lifted rows, several at once: what lies between them is folded too, and not looked at.
void PlaceFolder::fold_lifted(index_t first_row, index_t rows) {
  k_.along(lifted_->taps(), static_cast<int>(along_.kernel), 0, static_cast<int>(step_[0]), lifted_->first_codes(), 1,
           (rows - 1) * lifted_->pitch() + along_.out * lanes_, 0, value_of(first_row), code_of(first_row));
}

// Rows whose elements fill vectors: every element of outputs by its taps. True when the row is special.
bool PlaceFolder::fold_in_place(const std::byte* x, index_t row) {
  const Axis& axis = along_;
  const index_t pitch = layout_.axis[at(last_)].pitch[kX];
  if (scan_ != nullptr) {
    const bool dense = is_dense_row(layout_, kX, axis.in);
    const index_t runs = dense ? 1 : axis.in, n = dense ? axis.in * lanes_ : lanes_;
    for (index_t i = 0; i < runs; ++i) {
      if (scan_(x + i * pitch * elem_bytes_, n, false)) return true;
    }
  }
  const Range full = axis.full();
  for (index_t o = 0; o < axis.out; ++o) {
    if (o == full.begin && !full.empty()) {
      fold_run(x, pitch, full, {0, axis.kernel}, row);
      o = full.end - 1;
    } else {
      fold_run(x, pitch, {o, o + 1}, axis.taps(o), row);
    }
  }
  return false;
}

void PlaceFolder::fold_run(const std::byte* x, index_t pitch, Range outputs, Range taps, index_t row) {
  const Axis& axis = along_;
  const void* tap[kMostPlaceTaps];
  for (index_t t = taps.begin; t < taps.end; ++t) {
    tap[t - taps.begin] = x + axis.at(outputs.begin, t) * pitch * elem_bytes_;
  }
  const index_t offset = outputs.begin * lanes_ * k_.value_bytes;
  k_.along(tap, static_cast<int>(taps.size()), static_cast<int>(taps.begin * step_[0]), static_cast<int>(step_[0]),
           nullptr, outputs.size(), lanes_, axis.stride * pitch, value_of(row) + offset, code_of(row) + offset);
}

// The rows of the box that a row of outputs reads, in row-major order of their taps, and the codes of those taps.
int PlaceFolder::reads_of(const PlaceCoords& o, RowRead* reads) const {
  const auto taps = [&](int a) {
    return full_[at(a)].contains(o[at(a)]) ? Range{0, axis(a).kernel} : axis(a).taps(o[at(a)]);
  };
  return static_cast<int>(list_reads(layout_, o, rows_per_input_, step_, taps, reads));
}

int PlaceFolder::window_taps(const PlaceCoords& o, PlaceTap* taps) const {
  RowRead reads[kMostWholeTaps];
  const int rows = reads_of(o, reads);
  const index_t row_bytes = lifted_->pitch() * k_.value_bytes;
  int count = 0;
  for (int r = 0; r < rows; ++r) {
    const index_t offset = (reads[r].offset - first_row_) * row_bytes;
    for (index_t t = 0; t < along_.kernel; ++t) {
      taps[count++] = {static_cast<const std::byte*>(lifted_->taps()[t]) + offset,
                       static_cast<int>(reads[r].code + t * step_[0])};
    }
  }
  return count;
}

void PlaceFolder::fold(const PlaceCoords& o, void* value, void* code) const {
  if (whole_) {
    PlaceTap taps[kMostWholeTaps];
    const int count = window_taps(o, taps);
    return k_.window(taps, count, lifted_->first_codes(), row_elems(), value, code);
  }
  PlaceRow rows[kMostPlaceTaps * kMostPlaceTaps];
  RowRead reads[kMostPlaceTaps * kMostPlaceTaps];
  const int count = reads_of(o, reads);
  for (int r = 0; r < count; ++r) {
    const index_t row = reads[r].offset - first_row_;
    rows[r] = {value_of(row), code_of(row), static_cast<int>(reads[r].code)};
  }
  k_.across(rows, count, row_elems(), value, code);
}

bool PlaceFolder::fold_indexed(const PlaceCoords& o, void* value, const std::int32_t* base, std::int64_t origin,
                               bool stream, std::int64_t* index) const {
  if (!whole_ || k_.indexed == nullptr || row_elems() * k_.value_bytes < k_.vector_bytes) return false;
  PlaceTap taps[kMostWholeTaps];
  const int count = window_taps(o, taps);
  k_.indexed(taps, count, lifted_->first_codes(), row_elems(), value, base, origin, stream, index);
  return true;
}

}  // namespace oriel::cpu
