#include "cpu/box_gradient/gather_terms.h"

#include <algorithm>
#include <cstring>

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void OutputRows::close(index_t r) const {
  std::memset(code(r) - before * elem, 0xff, at(before * elem));
  std::memset(code(r) + row * elem, 0xff, at(after * elem));
}

RowReaders::RowReaders(const RowLayout& layout, const PlaceCoords& step, const PlaceCoords& inputs,
                       const PlaceCoords& outputs, Arena& arena)
    : layout_(layout), step_(step) {
  index_t rows = 1, readers = 1;
  for (int a = 0; a < layout.pooled() - 1; ++a) {
    rows *= inputs[at(a)];
    readers *= outputs[at(a)] * layout.axis[at(a)].axis.kernel;
  }
  readers_.begin = arena.take_array<index_t>(rows + 1);
  readers_.all = arena.take_array<OverlapReader>(readers);
}

void RowReaders::list(const PlaceBox& inputs, const PlaceBox& outputs) {
  const int last = layout_.pooled() - 1;
  const auto axis = [&](int a) -> const Axis& { return layout_.axis[at(a)].axis; };
  index_t count = 0;
  readers_.rows = row_count(inputs, last);
  each_row(inputs, last, [&](const PlaceCoords& i, index_t r) {
    readers_.begin[r] = count;
    const Range one = {0, 1};
    const Range outer = last > 1 ? axis(0).feeds(i[0]) : one;
    const Range inner = last > 0 ? axis(last - 1).feeds(i[at(last - 1)]) : one;
    for (index_t o = outer.begin; o < outer.end; ++o) {
      const index_t outer_tap = last > 1 ? axis(0).tap_of(o, i[0]) : 0;
      for (index_t p = inner.begin; p < inner.end; ++p) {
        const index_t tap = last > 0 ? axis(last - 1).tap_of(p, i[at(last - 1)]) : 0;
        if (outer_tap < 0 || tap < 0) continue;
        const index_t row = last > 0 ? p - outputs[at(last - 1)].begin : 0;
        const index_t plane = last > 1 ? (o - outputs[0].begin) * outputs[1].size() : 0;
        readers_.all[count++] = {plane + row, outer_tap * step_[2] + tap * step_[1]};
      }
    }
  });
  readers_.begin[readers_.rows] = count;
}

GatherTerms::GatherTerms(const RowLayout& layout, const PlaceCoords& step, index_t code_bytes, Arena& arena)
    : axis_(layout.axis.end()[-1].axis), lanes_(layout.lanes.n), step_(step[0]), code_bytes_(code_bytes) {
  index_t taps = 1;
  for (const PooledAxis& a : layout.axis) taps *= a.axis.kernel;
  terms_ = arena.take_array<PlaceTerm>(taps);
}

// Of every phase of the row's inputs, which taps read them, and from which element of a row of outputs on, in ascending
// order.
bool GatherTerms::set_row(Range inputs, Range outputs, OutputRows& rows) {
  if (inputs == shifts_of_) return false;
  shifts_of_ = inputs;
  const index_t steps = ceil_div(inputs.size(), axis_.stride);
  index_t least = 0, most = 0;
  shift_count_ = 0;
  for (index_t q = 0; q < axis_.stride; ++q) {
    for (index_t t = axis_.kernel - 1; t >= 0; --t) {
      if (!axis_.reads(inputs.begin + q, t)) continue;
      const index_t from = axis_.reader(inputs.begin + q, t) - outputs.begin;
      shift_[at(shift_count_++)] = {q, t * step_, from};
      least = std::min(least, from);
      most = std::max(most, from + steps - outputs.size());
    }
  }
  for (index_t s = 0; s < shift_count_; ++s) {
    shift_[at(s)].offset = (shift_[at(s)].offset - least) * lanes_ * code_bytes_;
  }
  rows.before = -least * lanes_;
  rows.row = outputs.size() * lanes_;
  rows.after = most * lanes_;
  return true;
}

const PlaceTerms* GatherTerms::of(const OverlapReader* readers, index_t count, const OutputRows& rows) {
  PlaceTerm* term = terms_;
  const Shift *shift = shift_.data(), *end = shift + shift_count_;
  for (index_t q = 0; q < axis_.stride; ++q) {
    const Shift* mine = shift;
    while (shift != end && shift->phase == q) ++shift;
    PlaceTerm* first = term;
    for (const OverlapReader* reader = readers; reader != readers + count; ++reader) {
      const index_t row = reader->row * rows.pitch();
      for (const Shift* s = mine; s != shift; ++s) {
        *term++ = {rows.codes + row + s->offset, rows.gradients + row + s->offset, reader->code + s->code};
      }
    }
    phases_[at(q)] = {first, static_cast<int>(term - first)};
  }
  return phases_.data();
}

}  // namespace oriel::cpu
