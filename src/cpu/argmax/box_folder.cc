#include "cpu/argmax/box_folder.h"

#include <cstring>
#include <utility>

#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kKeptBytes = index_t{192} << 10;  // folded rows of a box, at most
constexpr index_t kSlotBytes = 4096;                // lifted before they are folded along: calls cost something too
constexpr index_t kHalo = 16;                       // at most such a part of a box is looked at twice
constexpr index_t kRowElems = 4096;                 // outputs of a row: longer rows are cut
constexpr index_t kTasksPerThread = 4;
constexpr index_t kMostWholeTaps = 9;  // of windows that are folded at once

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// `bytes` bytes of one value, by doubling.
void fill(std::byte* to, const unsigned char* value, index_t value_bytes, index_t bytes) {
  std::memcpy(to, value, at(value_bytes));
  for (index_t done = value_bytes; done < bytes; done *= 2)
    std::memcpy(to + done, to, at(std::min(done, bytes - done)));
}

bool every_window_reads(const Axis& axis) {
  const Range full = axis.full();
  for (index_t o = 0; o < axis.out; ++o) {
    if (full.contains(o)) o = full.end;
    if (o < axis.out && axis.taps(o).empty()) return false;
  }
  return true;
}

index_t inputs_of(const Axis& axis, index_t outputs) {
  return std::min(axis.in, (outputs - 1) * axis.stride + axis.extent());
}

}  // namespace

bool finds_places(const Problem& problem, const RowLayout& layout) {
  if ((problem.pool.op != Op::max && problem.pool.op != Op::min) || problem.dtype == Dtype::boolean) return false;
  if (problem.pool.nan == NanPolicy::omit && is_floating(problem.dtype)) return false;
  const int axes = layout.pooled();
  if (axes > kMostPlaceAxes) return false;
  // Rows run along the last axis, so that a row's first best is the first of its taps; or lanes do, and it may.
  const bool lanes_dense = layout.lanes.n >= 16 && layout.lanes.pitch[kX] == 1;
  if (layout.row_axis != axes - 1 && !(layout.row_axis < 0 && lanes_dense)) return false;
  if (layout.axis[at(axes - 1)].axis.stride > kMostPlaceStep) return false;
  index_t span = layout.lanes.n * std::max<index_t>(1, layout.lanes.pitch[kFlat]);
  for (int a = 0; a < axes; ++a) {
    const Axis& axis = layout.axis[at(a)].axis;
    // Three digits do not fit codes of eight bits.
    const index_t most = a == 0 && axes == kMostPlaceAxes && size_bytes(problem.dtype) == 1 ? 4 : kMostPlaceTaps;
    if (axis.adaptive || axis.spacing != 1 || axis.kernel > most || !every_window_reads(axis)) return false;
    span += (axis.extent() + (a == axes - 1 ? axis.in : 0)) * layout.axis[at(a)].pitch[kFlat];
  }
  return span < (index_t{1} << 30);
}

PlaceCoords place_box_size(const RowLayout& layout, index_t value_bytes, index_t box_bytes, int threads) {
  PlaceCoords size{1, 1, 1};
  const int last = layout.pooled() - 1;
  const Axis& row = layout.axis[at(last)].axis;
  size[at(last)] = std::min(row.out, std::max<index_t>(8, kRowElems / layout.lanes.n));
  index_t room = std::max<index_t>(1, kKeptBytes / (2 * value_bytes * layout.lanes.n * size[at(last)]));  // rows
  index_t tasks = layout.plane_count() * ((row.out + size[at(last)] - 1) / size[at(last)]);
  for (int a = last - 1; a >= 0; --a) {
    const Axis& axis = layout.axis[at(a)].axis;
    const index_t fitting = std::max<index_t>(1, (room - axis.extent()) / axis.stride + 1);
    const index_t small = std::max<index_t>(1, room * box_bytes / kKeptBytes / axis.stride);
    const index_t wanted = std::max(small, kHalo * std::max<index_t>(0, axis.extent() - axis.stride) / axis.stride);
    size[at(a)] = std::min(axis.out, a == 0 ? std::min(fitting, wanted) : fitting);
    const index_t parts = (axis.out + size[at(a)] - 1) / size[at(a)];
    size[at(a)] = (axis.out + parts - 1) / parts;
    room = std::max<index_t>(1, room / inputs_of(axis, size[at(a)]));
    tasks *= (axis.out + size[at(a)] - 1) / size[at(a)];
  }
  // Few planes: smaller boxes, so that there is one for every thread.
  const index_t all = layout.plane_count() * row.out * layout.lanes.n * value_bytes;
  for (int a = 0; a <= last && threads > 1 && tasks < kTasksPerThread * threads; ++a) {
    const index_t out = layout.axis[at(a)].axis.out;
    if (a == last && (last > 0 || all <= 8 * task_bytes)) break;
    const index_t before = (out + size[at(a)] - 1) / size[at(a)];
    const index_t parts = std::min(out, (kTasksPerThread * threads * before + tasks - 1) / tasks);
    size[at(a)] = (out + parts - 1) / parts;
    tasks = tasks / before * ((out + size[at(a)] - 1) / size[at(a)]);
  }
  return size;
}

PlaceBoxes::PlaceBoxes(const RowLayout& layout, const PlaceCoords& size, bool of_inputs)
    : layout_(layout), size_(size) {
  for (int a = 0; a < layout.pooled(); ++a) {
    const Axis& axis = layout.axis[at(a)].axis;
    n_[at(a)] = of_inputs ? axis.in : axis.out;
    parts_[at(a)] = (n_[at(a)] + size[at(a)] - 1) / size[at(a)];
    boxes_ *= parts_[at(a)];
  }
  count = layout.lanes.n == 0 ? 0 : layout.plane_count() * boxes_;
}

PlaceBox PlaceBoxes::box(index_t number) const {
  PlaceBox box{};
  if (boxes_ == 1) {
    for (int a = 0; a < layout_.pooled(); ++a) box[at(a)] = {0, n_[at(a)]};
    return box;
  }
  for (int a = layout_.pooled() - 1; a >= 0; --a) {
    const index_t begin = number % parts_[at(a)] * size_[at(a)];
    number /= parts_[at(a)];
    box[at(a)] = {begin, std::min(n_[at(a)], begin + size_[at(a)])};
  }
  return box;
}

PlaceFolder::PlaceFolder(const Problem& problem, const RowLayout& layout, const PlaceCoords& most,
                         const PlaceCoords& step, bool exact, Arena& arena)
    : layout_(layout),
      k_(argmax_table().places(problem.pool.op, problem.dtype, exact)),
      last_(layout.pooled() - 1),
      lanes_(layout.lanes.n),
      elem_bytes_(size_bytes(problem.dtype)),
      dense_((lanes_ == 1 || layout.lanes.pitch[kX] == 1) &&
             (layout.axis[at(last_)].axis.in == 1 || layout.axis[at(last_)].pitch[kX] == lanes_)),
      by_element_(lanes_ * k_.value_bytes >= k_.vector_bytes && lanes_ > 1 && k_.in_place &&
                  layout.lanes.pitch[kX] == 1),
      whole_(!by_element_ && problem.taps() <= kMostWholeTaps) {
  for (int a = 0; a <= last_; ++a) {
    step_[at(a)] = k_.value_bytes >= 4 ? step[at(a)] : index_t{1} << (kPlaceBits * a);
  }
  if (!exact && is_floating(problem.dtype)) scan_ = oriel::cpu::kernels().scan(problem.dtype);
  visit(problem.dtype, [&]<class T>() {
    const T worst = problem.pool.op == Op::min ? highest_value<T>() : lowest_value<T>();
    std::memcpy(worst_.data(), &worst, sizeof(T));
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
      const auto bits = static_cast<std::int16_t>(worst.bits);
      const auto key = static_cast<std::int16_t>(bits ^ ((bits >> 15) & 0x7fff));
      const auto wide = static_cast<float>(worst);
      std::memcpy(worst_.data(), exact ? static_cast<const void*>(&wide) : &key, at(k_.value_bytes));
    }
  });
  index_t rows = 1;
  for (int a = 0; a < last_; ++a) {
    const index_t inputs = inputs_of(layout.axis[at(a)].axis, most[at(a)]);
    read_[at(a)] = arena.take_array<bool>(inputs);
    const Axis& axis = layout.axis[at(a)].axis;
    all_read_ &= axis.dilation == 1 && axis.stride <= axis.kernel;
    rows *= inputs;
  }
  const Axis& row = layout.axis[at(last_)].axis;
  const index_t inputs = inputs_of(row, most[at(last_)]), outputs = most[at(last_)];
  const index_t reach =
      std::max(outputs + (row.extent() - 1) / row.stride, (std::max<index_t>(0, -row.first) + inputs) / row.stride + 1);
  const index_t slack = 2 * k_.vector_bytes;
  pitch_ = reach * lanes_;
  if (!dense_) raw_ = arena.take(inputs * lanes_ * elem_bytes_);
  if (lanes_ > 1 && row.stride > 1) flat_ = arena.take(inputs * lanes_ * k_.value_bytes + slack);
  if (!by_element_) {
    slots_ = whole_ ? rows : std::clamp<index_t>(kSlotBytes / (pitch_ * k_.value_bytes), 1, rows);
    phase_bytes_ = (slots_ * pitch_ * k_.value_bytes + slack + 63) / 64 * 64;
    lifted_ = arena.take(row.stride * phase_bytes_);
    first_ = arena.take(phase_bytes_);
  }
  if (whole_) return;
  row_pitch_ = by_element_ ? outputs * lanes_ : pitch_;
  value_ = arena.take(rows * row_pitch_ * k_.value_bytes + slack);
  code_ = arena.take(rows * row_pitch_ * k_.value_bytes + slack);
}

void PlaceFolder::set_box(const PlaceBox& outputs) {
  bool same_row = false;
  for (int a = 0; a <= last_; ++a) {
    if (outputs[at(a)] == box_[at(a)]) {
      same_row = a == last_;
      continue;
    }
    const Axis& axis = layout_.axis[at(a)].axis;
    sub_[at(a)] = axis.slice(outputs[at(a)]);
    in_begin_[at(a)] = sub_[at(a)].in_offset - axis.in_offset;
    full_[at(a)] = sub_[at(a)].full();
    for (index_t i = 0; !all_read_ && a < last_ && i < sub_[at(a)].in; ++i) {
      bool& is = read_[at(a)][i] = false;
      for (index_t t = 0; t < axis.kernel; ++t) {
        is |= sub_[at(a)].reads(i, t) && Range{0, sub_[at(a)].out}.contains(sub_[at(a)].reader(i, t));
      }
    }
  }
  box_ = outputs;
  if (!same_row && !by_element_) set_row();
}

// Margins of the worst value, and the codes that outputs begin with, which may lack their first taps.
void PlaceFolder::set_row() {
  const Axis& axis = sub_[at(last_)];
  const index_t bytes = k_.value_bytes;
  fill(lifted_, worst_.data(), bytes, axis.stride * phase_bytes_);
  for (index_t t = 0; t < axis.kernel; ++t) {
    tap_[at(t)] = lifted_ + axis.phase(t) * phase_bytes_ + axis.phase_offset(t) * lanes_ * bytes;
  }
  for (index_t i = 0; i < axis.stride; ++i) {
    phase_[at(i)] = lifted_ + axis.phase_of(i) * phase_bytes_ + axis.phase_element(i) * lanes_ * bytes;
  }
  std::memset(first_, 0, at(phase_bytes_));
  first_differs_ = false;
  for (index_t o = 0; o < axis.out; ++o) {
    const index_t tap = axis.taps(o).begin;
    if (tap == 0) continue;
    first_differs_ = true;
    const index_t code = tap * step_[0];
    for (index_t slot = 0; slot < (whole_ ? 1 : slots_); ++slot) {
      for (index_t l = 0; l < lanes_; ++l) {  // little endian
        std::memcpy(first_ + (slot * pitch_ + o * lanes_ + l) * bytes, &code, at(bytes));
      }
    }
  }
}

bool PlaceFolder::is_read(const PlaceCoords& c) const {
  for (int a = 0; a < last_; ++a) {
    if (!read_[at(a)][c[at(a)]]) return false;
  }
  return true;
}

bool PlaceFolder::prepare(const std::byte* x, const PlaceBox& outputs) {
  if (!(outputs == box_)) set_box(outputs);
  index_t rows = 1;
  for (int a = 0; a < last_; ++a) rows *= sub_[at(a)].in;
  x += in_begin_[at(last_)] * layout_.axis[at(last_)].pitch[kX] * elem_bytes_;
  bool special = false;
  index_t first_row = 0, slots = 0;
  PlaceCoords c{};
  for (index_t r = 0; r < rows && !special; ++r) {
    if (all_read_ || is_read(c)) {
      index_t offset = 0;
      for (int a = 0; a < last_; ++a) offset += (in_begin_[at(a)] + c[at(a)]) * layout_.axis[at(a)].pitch[kX];
      const std::byte* row = x + offset * elem_bytes_;
      if (by_element_) {
        special |= fold_in_place(row, r);
      } else {
        if (slots == 0) first_row = r;
        special |= lift_row(row, whole_ ? r : slots);
        ++slots;
        if (!whole_ && (slots == slots_ || r + 1 == rows)) fold_slots(first_row, std::exchange(slots, 0));
      }
    } else if (!whole_ && slots > 0) {
      fold_slots(first_row, std::exchange(slots, 0));
    }
    for (int a = last_ - 1; a >= 0 && ++c[at(a)] == sub_[at(a)].in; --a) c[at(a)] = 0;
  }
  if (!whole_ && slots > 0) fold_slots(first_row, slots);
  return !special;
}

// The elements of a row beside each other.
const std::byte* PlaceFolder::dense_row(const std::byte* x) {
  if (dense_) return x;
  const index_t pitch = layout_.axis[at(last_)].pitch[kX], lane_pitch = layout_.lanes.pitch[kX];
  std::byte* out = raw_;
  for (index_t p = 0; p < sub_[at(last_)].in; ++p) {
    for (index_t l = 0; l < lanes_; ++l) {
      std::memcpy(out, x + (p * pitch + l * lane_pitch) * elem_bytes_, at(elem_bytes_));
      out += elem_bytes_;
    }
  }
  return raw_;
}

// A row of inputs into the slot's rows of phases. True when it is special.
bool PlaceFolder::lift_row(const std::byte* x, index_t slot) {
  const Axis& axis = sub_[at(last_)];
  const index_t bytes = k_.value_bytes, n = axis.in;
  x = dense_row(x);
  const index_t offset = slot * pitch_ * bytes;
  if (lanes_ == 1 || axis.stride == 1) {
    void* rows[kMostPlaceStep];
    for (index_t k = 0; k < axis.stride; ++k) rows[k] = phase_[at(k)] + offset;
    return k_.lift(x, n * lanes_, static_cast<int>(axis.stride), rows);
  }
  // Elements of several lanes: lifted as they stand, then dealt out.
  void* row = flat_;
  const bool special = k_.lift(x, n * lanes_, 1, &row);
  const index_t element = lanes_ * bytes;
  for (index_t k = 0; k < axis.stride; ++k) {
    std::byte* to = phase_[at(k)] + offset;
    for (index_t i = k; i < n; i += axis.stride, to += element) std::memcpy(to, flat_ + i * element, at(element));
  }
  return special;
}

// Lifted rows, several at once: what lies between them is folded too, and not looked at.
void PlaceFolder::fold_slots(index_t first_row, index_t slots) {
  const Axis& axis = sub_[at(last_)];
  k_.along(tap_.data(), static_cast<int>(axis.kernel), 0, static_cast<int>(step_[0]), first_differs_ ? first_ : nullptr,
           1, (slots - 1) * pitch_ + axis.out * lanes_, 0, value_of(first_row), code_of(first_row));
}

// Rows whose elements fill vectors: every element of outputs by its taps. True when the row is special.
bool PlaceFolder::fold_in_place(const std::byte* x, index_t row) {
  const Axis& axis = sub_[at(last_)];
  const index_t pitch = layout_.axis[at(last_)].pitch[kX];
  if (scan_ != nullptr) {
    const index_t runs = dense_ ? 1 : axis.in, n = dense_ ? axis.in * lanes_ : lanes_;
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
  const Axis& axis = sub_[at(last_)];
  const void* tap[kMostPlaceTaps];
  for (index_t t = taps.begin; t < taps.end; ++t) {
    tap[t - taps.begin] = x + axis.at(outputs.begin, t) * pitch * elem_bytes_;
  }
  const index_t offset = outputs.begin * lanes_ * k_.value_bytes;
  k_.along(tap, static_cast<int>(taps.size()), static_cast<int>(taps.begin * step_[0]), static_cast<int>(step_[0]),
           nullptr, outputs.size(), lanes_, axis.stride * pitch, value_of(row) + offset, code_of(row) + offset);
}

// The rows that a row of outputs reads, in row-major order of their taps, and the codes of those taps.
int PlaceFolder::across_rows(const PlaceCoords& o, index_t* rows, index_t* codes) const {
  if (last_ == 0) {
    rows[0] = codes[0] = 0;
    return 1;
  }
  int count = 0;
  const Axis& inner = sub_[at(last_ - 1)];
  if (last_ == 1) {
    const Range t = taps(0, o[0]);
    index_t row = inner.at(o[0], t.begin), code = t.begin * step_[1];
    for (; count < t.size(); ++count, row += inner.dilation, code += step_[1]) {
      rows[count] = row;
      codes[count] = code;
    }
    return count;
  }
  const Range across = taps(last_ - 1, o[at(last_ - 1)]);
  const Range outer = taps(0, o[0]);
  for (index_t t = outer.begin; t < outer.end; ++t) {
    const index_t plane = sub_[0].at(o[0], t) * inner.in;
    for (index_t u = across.begin; u < across.end; ++u) {
      rows[count] = plane + inner.at(o[at(last_ - 1)], u);
      codes[count++] = t * step_[2] + u * step_[1];
    }
  }
  return count;
}

int PlaceFolder::window_taps(const PlaceCoords& o, PlaceTap* taps) const {
  index_t rows[kMostWholeTaps], codes[kMostWholeTaps];
  const int n = across_rows(o, rows, codes);
  const index_t kernel = sub_[at(last_)].kernel, row_bytes = pitch_ * k_.value_bytes;
  int count = 0;
  for (int r = 0; r < n; ++r) {
    for (index_t t = 0; t < kernel; ++t) {
      taps[count++] = {static_cast<const std::byte*>(tap_[at(t)]) + rows[r] * row_bytes,
                       static_cast<int>(codes[r] + t * step_[0])};
    }
  }
  return count;
}

void PlaceFolder::fold(const PlaceCoords& o, void* value, void* code) const {
  if (whole_) {
    PlaceTap taps[kMostWholeTaps];
    const int count = window_taps(o, taps);
    return k_.window(taps, count, first_differs_ ? first_ : nullptr, row_elems(), value, code);
  }
  PlaceRow rows[kMostPlaceTaps * kMostPlaceTaps];
  index_t numbers[kMostPlaceTaps * kMostPlaceTaps], codes[kMostPlaceTaps * kMostPlaceTaps];
  const int count = across_rows(o, numbers, codes);
  for (int r = 0; r < count; ++r) rows[r] = {value_of(numbers[r]), code_of(numbers[r]), static_cast<int>(codes[r])};
  k_.across(rows, count, row_elems(), value, code);
}

bool PlaceFolder::fold_indexed(const PlaceCoords& o, void* value, const std::int32_t* base, std::int64_t origin,
                               bool stream, std::int64_t* index) const {
  if (!whole_ || k_.indexed == nullptr || row_elems() * k_.value_bytes < k_.vector_bytes) return false;
  PlaceTap taps[kMostWholeTaps];
  const int count = window_taps(o, taps);
  k_.indexed(taps, count, first_differs_ ? first_ : nullptr, row_elems(), value, base, origin, stream, index);
  return true;
}

}  // namespace oriel::cpu
