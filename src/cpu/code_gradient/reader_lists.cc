#include "cpu/code_gradient/reader_lists.h"

#include <algorithm>

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void CodeLists::make(const CodeShape& shape) {
  if (made_ && shape == shape_) return;
  made_ = false;
  shape_ = shape;
  step_ = shape.steps();
  list_axes();
  list_rows();
  before_ = after_ = 0;
  column_begin_.assign(1, 0);
  at_.clear();
  vector_begin_.assign(1, 0);
  vector_all_.clear();
  if (shape_.way == GatherWay::lanes) {
    list_columns();
  } else if (shape_.way == GatherWay::woven) {
    list_woven();
  } else {
    list_elements();
  }
  bool single = true;
  for (std::size_t v = 0; v + 1 < vector_begin_.size(); ++v) single &= vector_begin_[v + 1] == vector_begin_[v] + 1;
  rows_ = {.readers = {input_rows(), row_begin_.data(), row_all_.data()},
           .dx = dx_.data(),
           .vectors = {static_cast<index_t>(at_.size()), vector_begin_.data(), vector_all_.data()},
           .at = at_.data(),
           .single = single,
           .columns = {static_cast<index_t>(column_begin_.size()) - 1, column_begin_.data(), column_all_.data()},
           .column_pitch = shape_.axis.end()[-1].pitch[kDx],
           .lanes = shape_.lanes.n,
           .windows = {shape_.axis.end()[-1].axis.in, shape_.axis.end()[-1].axis.out, shape_.axis.end()[-1].axis.first,
                       static_cast<int>(shape_.axis.end()[-1].axis.kernel),
                       static_cast<int>(shape_.axis.end()[-1].axis.stride)},
           .never = never_.data()};
  made_ = true;
}

index_t CodeLists::bytes() const {
  const auto room = [](const auto&... list) {
    return static_cast<index_t>(((list.capacity() * sizeof list[0]) + ...));
  };
  index_t all = room(dx_, row_begin_, column_begin_, vector_begin_, at_, row_all_, column_all_, vector_all_, never_,
                     elements_.begin, elements_.all);
  for (const Readers& readers : by_axis_) all += room(readers.begin, readers.all);
  return all;
}

void CodeLists::list_axes() {
  for (int a = 0; a < shape_.axis.size(); ++a) {
    const Axis& axis = shape_.axis[at(a)].axis;
    Readers& readers = by_axis_[at(a)];
    readers.begin.assign(1, 0);
    readers.all.clear();
    for (index_t i = 0; i < axis.in; ++i) {
      const Range outputs = axis.feeds(i);
      for (index_t o = outputs.begin; o < outputs.end; ++o) {
        if (const index_t tap = axis.tap_of(o, i); tap >= 0) readers.all.push_back({o, tap});
      }
      readers.begin.push_back(static_cast<index_t>(readers.all.size()));
    }
  }
}

// In ascending order of outputs: each reader along an axis is followed by all along the next one.
void CodeLists::list_rows() {
  dx_.clear();
  row_begin_.assign(1, 0);
  row_all_.clear();
  shape_.each_row(true, [&](const auto& i) {
    index_t dx = 0;
    const std::size_t begin = row_all_.size();
    row_all_.push_back({0, 0, 0});
    for (int a = 0; a < shape_.outer(); ++a) {
      const Pitches& pitch = shape_.axis[at(a)].pitch;
      const Readers& readers = by_axis_[at(a)];
      const Reader* first = readers.all.data() + readers.begin[at(i[at(a)])];
      const index_t count = readers.begin[at(i[at(a)] + 1)] - readers.begin[at(i[at(a)])];
      const std::size_t before = row_all_.size() - begin;
      row_all_.resize(begin + before * at(count));
      for (std::size_t b = before; b-- > 0 && count > 0;) {  // backwards: each is replaced by those that it becomes
        const CodeReader outer = row_all_[begin + b];
        for (index_t r = count - 1; r >= 0; --r) {
          row_all_[begin + b * at(count) + at(r)] = {outer.dy + first[r].output * pitch[kDy],
                                                     outer.code + first[r].output * pitch[kCode],
                                                     outer.tap + first[r].tap * step_[at(a)]};
        }
      }
      dx += i[at(a)] * pitch[kDx];
    }
    row_begin_.push_back(static_cast<index_t>(row_all_.size()));
    dx_.push_back(dx);
  });
}

void CodeLists::list_columns() {
  const PooledAxis& row = shape_.axis.end()[-1];
  const Readers& readers = by_axis_[at(shape_.axis.size() - 1)];
  column_begin_ = readers.begin;
  column_all_.clear();
  for (const Reader& r : readers.all) {
    column_all_.push_back({r.output * row.pitch[kDy], r.output * row.pitch[kCode], r.tap});
  }
}

void CodeLists::list_woven() {
  const Axis& row = shape_.axis.end()[-1].axis;
  const int kernel = static_cast<int>(row.kernel), stride = static_cast<int>(row.stride);
  const int phase = static_cast<int>(floor_mod(-row.first, row.stride)), aheads = woven_aheads(kernel, stride, phase);
  const index_t least = -row.first / row.stride + woven_ahead(kernel - 1, stride, phase);
  never_.clear();
  index_t end = least;  // of outputs that are read
  for (index_t i = 0; i < row.in; i += shape_.vector * row.stride) {
    for (int a = 0; a < aheads; ++a) {
      for (index_t l = 0; l < kMostCodeLanes; ++l) {
        const index_t o = least + a + i / row.stride + l;
        never_.push_back(o >= 0 && o < row.out ? Code{0} : kNeverCode);
      }
      end = least + a + i / row.stride + shape_.vector;
    }
  }
  before_ = std::max<index_t>(0, -least);
  after_ = std::max<index_t>(0, end - row.out);
}

// The readers of a row's positions: those along its axis, or of whole planes those along all.
void CodeLists::list_elements() {
  const int last = shape_.axis.size() - 1;
  elements_ = by_axis_[at(last)];
  index_t outputs = shape_.axis.end()[-1].axis.out;
  for (int a = last - 1; a >= 0 && shape_.way == GatherWay::whole; --a) {
    Readers inner;
    std::swap(inner, elements_);
    elements_.begin.assign(1, 0);
    const Readers& axis = by_axis_[at(a)];
    for (std::size_t i = 0; i + 1 < axis.begin.size(); ++i) {
      for (std::size_t j = 0; j + 1 < inner.begin.size(); ++j) {
        for (index_t r = axis.begin[i]; r < axis.begin[i + 1]; ++r) {
          const Reader& by = axis.all[at(r)];
          for (index_t q = inner.begin[j]; q < inner.begin[j + 1]; ++q) {
            const Reader& in = inner.all[at(q)];
            elements_.all.push_back({by.output * outputs + in.output, by.tap * step_[at(a)] + in.tap});
          }
        }
        elements_.begin.push_back(static_cast<index_t>(elements_.all.size()));
      }
    }
    outputs *= shape_.axis[at(a)].axis.out;
  }
  const index_t n = (static_cast<index_t>(elements_.begin.size()) - 1) * shape_.lanes.n * shape_.planes;
  after_ = shape_.vector;
  for (index_t e = 0; e < n; e += shape_.vector) {
    at_.push_back(std::min(e, n - shape_.vector));  // the last vector overlaps the one before
    list_vector(at_.back());
    vector_begin_.push_back(static_cast<index_t>(vector_all_.size()));
  }
}

// The terms of the vector from element `first` on. Where windows step by one, lanes that read with the same tap go
// together: they lie as they stand.
void CodeLists::list_vector(index_t first) {
  bool by_tap = true;
  const index_t outputs = shape_.row_outputs() / shape_.planes;
  for (const PooledAxis& a : shape_.axis) by_tap &= !a.axis.adaptive && a.axis.stride == 1;
  const index_t positions = static_cast<index_t>(elements_.begin.size()) - 1;
  const Reader *head[kMostCodeLanes], *tail[kMostCodeLanes];
  index_t shift[kMostCodeLanes];  // of outputs: of the lane's plane and channel
  for (index_t l = 0; l < shape_.vector; ++l) {
    const index_t e = first + l, channel = e % shape_.lanes.n, position = e / shape_.lanes.n;
    head[l] = elements_.all.data() + elements_.begin[at(position % positions)];
    tail[l] = elements_.all.data() + elements_.begin[at(position % positions + 1)];
    shift[l] = position / positions * outputs + channel;
  }
  const auto output = [&](index_t l) { return head[l]->output * shape_.lanes.n + shift[l]; };
  for (;;) {
    index_t tap = -1, least = highest_value<index_t>();
    for (index_t l = 0; l < shape_.vector; ++l) {
      if (head[l] != tail[l]) tap = std::max(tap, head[l]->tap);
    }
    if (tap < 0) return;
    const auto goes = [&](index_t l) { return head[l] != tail[l] && (!by_tap || head[l]->tap == tap); };
    for (index_t l = 0; l < shape_.vector; ++l) {
      if (goes(l)) least = std::min(least, output(l));
    }
    CodeTerm term{};
    std::fill(std::begin(term.tap), std::end(term.tap), kNeverCode);
    index_t begin = -1;  // where lane 0 reads if nothing is permuted
    for (index_t l = 0; l < shape_.vector; ++l) {
      if (!goes(l) || output(l) >= least + shape_.vector) continue;
      const index_t o = output(l);
      term.permuted |= o < l || (begin >= 0 && begin != o - l);
      begin = o - l;
      term.from[l] = static_cast<std::uint8_t>(o - least);
      term.tap[l] = static_cast<Code>(head[l]->tap);
      ++head[l];
    }
    term.first = static_cast<std::int32_t>(term.permuted ? least : begin);
    vector_all_.push_back(term);
  }
}

}  // namespace oriel::cpu
