#include "cpu/exact/mend.h"

#include <algorithm>
#include <limits>

namespace oriel::cpu {
namespace {

constexpr index_t kManyInputs = 128;      // for every result: to look at each takes less than to fold them
constexpr index_t kSomeResults = 16;      // otherwise one of so many may be zero
constexpr index_t kLookedThrough = 4096;  // elements of rows that lie one after the other
constexpr index_t kCounted = 512;         // of them whose zeros are counted together
constexpr index_t kPiece = 128;           // of a row with a NaN
constexpr index_t kWritten = 4;           // inputs for each result that may be written without a loss

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

template <class Bits>
constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() / 2;  // all but the sign

template <class Bits>
bool is_zero(Bits x) {
  return (x & kMagnitude<Bits>) == 0;
}

// Calls body for integers as long as elements.
template <class Body>
auto visit_bits(Dtype dtype, const Body& body) {
  const index_t bytes = size_bytes(dtype);
  if (bytes == 8) return body.template operator()<std::uint64_t>();
  if (bytes == 4) return body.template operator()<std::uint32_t>();
  return body.template operator()<std::uint16_t>();
}

// Counts at most `most` and a piece. In pieces, so that the sum is of as many bits as the elements.
template <class Bits>
index_t count_zeros(const Bits* x, index_t n, index_t most) {
  index_t all = 0;
  for (index_t begin = 0; begin < n && all <= most; begin += kCounted) {
    Bits zeros = 0;
    for (index_t i = begin; i < std::min(n, begin + kCounted); ++i) zeros += is_zero(x[i]) ? Bits{1} : Bits{0};
    all += static_cast<index_t>(zeros);
  }
  return all;
}

// The signs of results that are zero, where their windows' inputs are zeros of both signs.
class ZeroSigns {
 public:
  ZeroSigns(const MendedBox& box, DecidingInputs& inputs) : box_(box), inputs_(inputs) {}

  // False if there are too many, or if too much had to be looked at; then some have theirs.
  template <class Bits>
  bool write();

 private:
  template <class Bits>
  bool is_dense_row() const;
  template <class Bits>
  void write_row() const;
  template <class Bits>
  bool write_one(const RowCoords& o, index_t lane, Bits& y);

  const MendedBox& box_;
  DecidingInputs& inputs_;
  index_t looked_ = 0;
};

template <class Bits>
bool ZeroSigns::is_dense_row() const {
  // Wider elements are folded again sooner.
  if (sizeof(Bits) != 2 || box_.layout.pooled() != 1 || box_.layout.row_axis != 0) return false;
  const PooledAxis& row = box_.layout.axis[0];
  return box_.box.lanes.size() == 1 && !row.axis.adaptive && row.axis.dilation == 1 && row.axis.spacing == 1 &&
         row.pitch[kX] == 1;
}

// Of windows along one row, whose first zero only moves on.
template <class Bits>
void ZeroSigns::write_row() const {
  const PooledAxis& row = box_.layout.axis[0];
  const Range outputs = box_.box.outputs[0];
  const auto* x = static_cast<const Bits*>(box_.job.x) + box_.offset({}, kX);
  Bits* y = static_cast<Bits*>(box_.job.y) + box_.offset({}, kY);
  const index_t stride = row.axis.stride, kernel = row.axis.kernel, in = row.axis.in, pitch = row.pitch[kY];
  index_t zero = 0, start = row.axis.start(outputs.begin);
  for (index_t o = outputs.begin; o < outputs.end; ++o, start += stride) {
    if (!is_zero(y[o * pitch])) continue;
    const index_t end = std::min(in, start + kernel);
    zero = std::max(zero, start);
    while (zero < end && !is_zero(x[zero])) ++zero;
    if (zero < end) y[o * pitch] = x[zero];
  }
}

template <class Bits>
bool ZeroSigns::write() {
  if (is_dense_row<Bits>()) {
    write_row<Bits>();
    return true;
  }
  const MendedBox::Rows rows = box_.rows(box_.box.outputs, kY);
  Bits* const results = static_cast<Bits*>(box_.job.y);
  const index_t most = box_.inputs >= kManyInputs * box_.outputs ? box_.outputs : box_.outputs / kSomeResults;
  index_t zeros = 0;
  each_row(box_.layout, box_.box.outputs, [&](const RowCoords& first) {
    zeros += rows.dense ? count_zeros(results + box_.offset(first, kY), rows.n * rows.lanes, most) : 0;
    return zeros <= most;
  });
  if (rows.dense && zeros == 0) return true;
  const auto has = [](const Bits* x, index_t elems) { return count_zeros(x, elems, DecidingInputs::kMost); };
  if (inputs_.find<Bits>(has, is_zero<Bits>)) {
    inputs_.write<Bits>(true, is_zero<Bits>);  // backward, so that the first zero of a window stays
    return true;
  }
  if (zeros > most) return false;
  bool few = true;
  each_row(box_.layout, box_.box.outputs, [&](const RowCoords& first) {
    Bits* y = results + box_.offset(first, kY);
    if (rows.dense && std::none_of(y, y + rows.n * rows.lanes, is_zero<Bits>)) return true;
    RowCoords c = first;
    for (index_t o = 0; o < rows.n && few; ++o) {
      if (const int row = box_.layout.row_axis; row >= 0) c[at(row)] = first[at(row)] + o;
      for (index_t l = 0; l < rows.lanes && few; ++l) {
        Bits& result = y[o * rows.pitch + l * rows.lane_pitch];
        if (is_zero(result)) few = write_one(c, l, result);
      }
    }
    return few;
  });
  return few;
}

// Looks through the window's taps, the last axis's first, for the first zero.
template <class Bits>
bool ZeroSigns::write_one(const RowCoords& o, index_t lane, Bits& y) {
  const RowLayout& layout = box_.layout;
  const int last = layout.pooled() - 1;
  const auto* x = static_cast<const Bits*>(box_.job.x) + box_.offset({}, kX) + lane * layout.lanes.pitch[kX];
  AxisRanges taps;
  for (int a = 0; a <= last; ++a) {
    taps[at(a)] = layout.axis[at(a)].axis.taps(o[at(a)]);
    if (taps[at(a)].empty()) return true;
  }
  const Axis& along = layout.axis[at(last)].axis;
  const bool spaced = along.spacing != 1;  // some taps may be between inputs
  const index_t start = along.start(o[at(last)]);
  bool few = true;
  each_place(last, taps, [&](const RowCoords& t) {
    index_t row = 0;
    for (int a = 0; a < last; ++a) {
      const Axis& axis = layout.axis[at(a)].axis;
      const index_t input = axis.input_at(axis.at(o[at(a)], t[at(a)]));
      if (input < 0) return true;
      row += input * layout.axis[at(a)].pitch[kX];
    }
    for (index_t u = taps[at(last)].begin; u < taps[at(last)].end; ++u) {
      const index_t place = start + u * along.dilation, input = spaced ? along.input_at(place) : place;
      if (input < 0) continue;
      few = ++looked_ <= box_.inputs / 4 + box_.outputs;
      if (!few) return false;
      const Bits value = x[row + input * layout.axis[at(last)].pitch[kX]];
      if (!is_zero(value)) continue;
      y = value;
      return false;
    }
    return true;
  });
  return few;
}

}  // namespace

bool mends(const FoldJob& job) {
  if (job.problem == nullptr || job.index != nullptr || !is_floating(job.problem->dtype)) return false;
  const Pool& pool = job.problem->pool;
  return (pool.op == Op::max || pool.op == Op::min) && pool.nan != NanPolicy::omit;
}

bool mend(const FoldJob& job, index_t plane, const OutputBox& box) {
  Mender mender(job, plane, box);
  if (!mender.find_nan()) return false;
  mender.write_nan();
  return mender.sign_zeros();
}

MendedBox::MendedBox(const FoldJob& fold, index_t number, const OutputBox& part)
    : job(fold),
      layout(fold.layout),
      box(part),
      plane(fold.layout.plane_offsets(number)),
      inputs(part.lanes.size()),
      outputs(part.lanes.size()) {
  for (int a = 0; a < layout.pooled(); ++a) {
    needs[at(a)] = layout.axis[at(a)].axis.needs(box.outputs[at(a)]);
    inputs *= needs[at(a)].size();
    outputs *= box.outputs[at(a)].size();
  }
}

MendedBox::Rows MendedBox::rows(const AxisRanges& part, Operand operand) const {
  Rows rows{.lanes = box.lanes.size(), .lane_pitch = layout.lanes.pitch[operand]};
  rows.pitch = rows.lanes;
  if (layout.row_axis >= 0) {
    rows.n = part[at(layout.row_axis)].size();
    rows.pitch = layout.axis[at(layout.row_axis)].pitch[operand];
  }
  rows.dense = (rows.lanes == 1 || rows.lane_pitch == 1) && (rows.n == 1 || rows.pitch == rows.lanes);
  return rows;
}

index_t MendedBox::offset(const RowCoords& c, Operand operand) const {
  index_t sum = plane[operand] + box.lanes.begin * layout.lanes.pitch[operand];
  for (int a = 0; a < layout.pooled(); ++a) sum += c[at(a)] * layout.axis[at(a)].pitch[operand];
  return sum;
}

Range MendedBox::fed(int axis, index_t input) const {
  return intersect(layout.axis[at(axis)].axis.feeds(input), box.outputs[at(axis)]);
}

bool DecidingInputs::add(const RowCoords& place, index_t lane) {
  index_t windows = 1;
  for (int a = 0; a < box_.layout.pooled(); ++a) windows *= box_.fed(a, place[at(a)]).size();
  if (windows == 0) return true;  // between windows
  written_ += windows;
  if (written_ > std::max(box_.outputs, box_.inputs / kWritten) || inputs_.size() == kMost) return false;
  inputs_.push_back({place, lane});
  return true;
}

template <class Bits, class Has, class Is>
bool DecidingInputs::find(const Has& has, const Is& is) {
  inputs_.clear();
  written_ = 0;
  const RowLayout& layout = box_.layout;
  const MendedBox::Rows rows = box_.rows(box_.needs, kX);
  const index_t elems = rows.n * rows.lanes;
  const auto* from = static_cast<const Bits*>(box_.job.x);
  bool few = true;
  const auto may_have = [&](const Bits* x, index_t n) {
    if (!rows.dense) return true;
    const index_t many = has(x, n);
    few = few && many <= kMost;
    return few && many != 0;
  };
  const auto look_at_row = [&](const RowCoords& first) {
    const Bits* x = from + box_.offset(first, kX);
    if (!may_have(x, elems)) return few;
    RowCoords c = first;
    const index_t piece = std::max<index_t>(1, kPiece / rows.lanes);
    for (index_t begin = 0; begin < rows.n && few; begin += piece) {
      const index_t end = std::min(rows.n, begin + piece);
      if (!may_have(x + begin * rows.pitch, (end - begin) * rows.lanes)) continue;
      for (index_t i = begin; i < end && few; ++i) {
        if (layout.row_axis >= 0) c[at(layout.row_axis)] = box_.needs[at(layout.row_axis)].begin + i;
        for (index_t l = 0; l < rows.lanes && few; ++l) {
          if (is(x[i * rows.pitch + l * rows.lane_pitch])) few = add(c, l);
        }
      }
    }
    return few;
  };
  int inner = layout.pooled() - 1;  // the axis that rows are counted by first
  if (inner == layout.row_axis) --inner;
  if (!rows.dense || inner < 0 || layout.axis[at(inner)].pitch[kX] != elems) {
    each_row(layout, box_.needs, look_at_row);
    return few;
  }
  const Range all = box_.needs[at(inner)];
  const index_t some = std::max<index_t>(1, kLookedThrough / std::max<index_t>(1, elems));
  AxisRanges runs = box_.needs;
  runs[at(inner)].end = std::min(all.end, all.begin + 1);
  each_row(layout, runs, [&](const RowCoords& first) {
    for (RowCoords c = first; c[at(inner)] < all.end && few;) {
      const index_t end = std::min(all.end, c[at(inner)] + some);
      if (!may_have(from + box_.offset(c, kX), (end - c[at(inner)]) * elems)) {
        c[at(inner)] = end;
        continue;
      }
      for (; c[at(inner)] < end && few; ++c[at(inner)]) look_at_row(c);
    }
    return few;
  });
  return few;
}

template <class Bits, class Changes>
void DecidingInputs::write(bool backward, const Changes& changes) {
  std::sort(inputs_.begin(), inputs_.end(),
            [backward](const Input& a, const Input& b) { return backward ? a.place > b.place : a.place < b.place; });
  const RowLayout& layout = box_.layout;
  for (const Input& input : inputs_) {
    const index_t from = box_.offset(input.place, kX) + input.lane * layout.lanes.pitch[kX];
    const Bits value = static_cast<const Bits*>(box_.job.x)[from];
    AxisRanges windows;
    for (int a = 0; a < layout.pooled(); ++a) windows[at(a)] = box_.fed(a, input.place[at(a)]);
    const auto reads = [&](int a, index_t o) {  // where dilation leaves gaps, not all windows do that span it
      const Axis& axis = layout.axis[at(a)].axis;
      return axis.dilation == 1 || axis.tap_of(o, input.place[at(a)]) >= 0;
    };
    const auto put = [&](Bits& result) { result = changes(result) ? value : result; };
    each_row(layout, windows, [&](const RowCoords& first) {
      for (int a = 0; a < layout.pooled(); ++a) {
        if (a != layout.row_axis && !reads(a, first[at(a)])) return true;
      }
      Bits* y = static_cast<Bits*>(box_.job.y) + box_.offset(first, kY) + input.lane * layout.lanes.pitch[kY];
      if (layout.row_axis < 0) {
        put(*y);
        return true;
      }
      const PooledAxis& row = layout.axis[at(layout.row_axis)];
      const Range along = windows[at(layout.row_axis)];
      if (row.axis.dilation == 1 && row.pitch[kY] == 1) {
        std::for_each(y, y + along.size(), put);
        return true;
      }
      for (index_t o = along.begin; o < along.end; ++o) {
        if (reads(layout.row_axis, o)) put(y[(o - along.begin) * row.pitch[kY]]);
      }
      return true;
    });
  }
}

bool Mender::find_nan() {
  const FoldJob& job = box_.job;
  const auto has = [&job](const void* x, index_t elems) { return job.plain.scan(x, elems, false) ? 1 : 0; };
  const auto find_beyond = [&]<class Bits>(Bits infinity) {
    return inputs_.find<Bits>(has, [infinity](Bits x) { return (x & kMagnitude<Bits>) > infinity; });
  };
  switch (job.problem->dtype) {
    case Dtype::f64:
      return find_beyond(std::uint64_t{0x7ff0000000000000});
    case Dtype::f32:
      return find_beyond(std::uint32_t{0x7f800000});
    case Dtype::f16:
      return find_beyond(std::uint16_t{0x7c00});
    default:
      return find_beyond(std::uint16_t{0x7f80});
  }
}

void Mender::write_nan() {
  visit_bits(box_.job.problem->dtype, [&]<class Bits>() {
    inputs_.write<Bits>(false, [](Bits) { return true; });  // forward, so that the last NaN of a window stays
  });
}

bool Mender::sign_zeros() {
  return visit_bits(box_.job.problem->dtype, [&]<class Bits>() { return ZeroSigns(box_, inputs_).write<Bits>(); });
}

}  // namespace oriel::cpu
