// The boxes of outputs by which extrema are found together with their places, and rows within them: rows run along the
// last pooled axis.
#pragma once

#include "cpu/argmax/argmax_kernels.h"
#include "cpu/plan/layout.h"

namespace oriel::cpu {

/// Outputs, or inputs, of the pooled axes.
using PlaceBox = std::array<Range, kMostPlaceAxes>;
using PlaceCoords = std::array<index_t, kMostPlaceAxes>;

/// Of windows along rows, at most.
inline constexpr index_t kMostPlaceStep = 64;

/// Whether a problem may be folded by boxes: max and min, few taps along every axis, and no window without one.
bool finds_places(const Problem& problem, const RowLayout& layout);

/// The inputs that so many outputs beside each other read, at most.
index_t inputs_of(const Axis& axis, index_t outputs);

/// How large boxes of outputs should be: what is kept of them fits the second cache, `box_bytes` of it if there is so
/// much, and little is done twice.
PlaceCoords place_box_size(const RowLayout& layout, index_t value_bytes, index_t box_bytes, int threads);

inline constexpr index_t kBoxBytes = index_t{24} << 10;  // in the first cache

/// The outputs, or the inputs, of all planes cut into boxes of a size.
class PlaceBoxes {
 public:
  PlaceBoxes(const RowLayout& layout, const PlaceCoords& size, bool of_inputs);

  index_t count = 0;
  index_t plane(index_t number) const { return boxes_ == 1 ? number : number / boxes_; }
  PlaceBox box(index_t number) const;

 private:
  const RowLayout& layout_;
  PlaceCoords size_, n_{1, 1, 1}, parts_{1, 1, 1};
  index_t boxes_ = 1;  // of a plane
};

/// The rows of a box whose axis `last` runs along them.
constexpr index_t row_count(const PlaceBox& box, int last) {
  index_t rows = 1;
  for (int a = 0; a < last; ++a) rows *= box[static_cast<std::size_t>(a)].size();
  return rows;
}

/// Calls body(where it begins, its number) for every row of a box.
template <class Body>
void each_row(const PlaceBox& box, int last, const Body& body) {
  PlaceCoords c{};
  for (std::size_t a = 0; a <= static_cast<std::size_t>(last); ++a) c[a] = box[a].begin;
  const index_t rows = row_count(box, last);
  for (index_t r = 0; r < rows; ++r) {
    body(c, r);
    for (int i = last - 1; i >= 0; --i) {
      const auto a = static_cast<std::size_t>(i);
      if (++c[a] < box[a].end) break;
      c[a] = box[a].begin;
    }
  }
}

/// Where a place of a plane lies in an operand, in elements from the plane's begin.
inline index_t offset_of(const RowLayout& layout, const PlaceCoords& c, Operand operand) {
  index_t offset = 0;
  for (std::size_t a = 0; a < static_cast<std::size_t>(layout.pooled()); ++a) {
    offset += c[a] * layout.axis[a].pitch[operand];
  }
  return offset;
}

/// Whether n positions of a row are one run of memory.
inline bool is_dense_row(const RowLayout& layout, Operand operand, index_t n) {
  return (layout.lanes.n == 1 || layout.lanes.pitch[operand] == 1) &&
         (n == 1 || layout.axis.end()[-1].pitch[operand] == layout.lanes.n);
}

/// A row of inputs that a row of outputs reads: where it lies, and the code of tap 0 along it.
struct RowRead {
  index_t offset;
  index_t code;
};

/// Lists the rows that the row of outputs at o reads, in row-major order of their taps, and returns their number. The
/// next input of axis a lies pitch[a] further on, its next tap adds step[a from the last] to a code, and taps(a) are
/// those that exist.
template <class Read, class Taps>
index_t list_reads(const RowLayout& layout, const PlaceCoords& o, const PlaceCoords& pitch, const PlaceCoords& step,
                   const Taps& taps, Read* reads) {
  const int last = layout.pooled() - 1;
  reads[0] = {0, 0};
  index_t count = 1;
  for (int i = last - 1; i >= 0; --i) {  // the inner axis first; each read is replaced by those that it becomes
    const auto a = static_cast<std::size_t>(i);
    const Axis& axis = layout.axis[a].axis;
    const Range some = taps(i);
    const index_t start = axis.start(o[a]), code = step[static_cast<std::size_t>(last - i)];
    for (index_t t = some.end - 1; t >= some.begin; --t) {
      const index_t offset = (start + t * axis.dilation) * pitch[a];
      Read* to = reads + (t - some.begin) * count;
      for (index_t r = 0; r < count; ++r) to[r] = {reads[r].offset + offset, reads[r].code + t * code};
    }
    count *= some.size();
  }
  return count;
}

}  // namespace oriel::cpu
