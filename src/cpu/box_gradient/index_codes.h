// Rows of indices as codes again.
#pragma once

#include "cpu/argmax/index_writer.h"
#include "cpu/box_gradient/gather_kernels.h"

namespace oriel::cpu {

/// A code is an index less what the indices of its output count from.
class IndexCodes {
 public:
  /// For boxes of at most `most` outputs, of which a row holds at most `room` elements. Takes its memory from `arena`,
  /// which must not be reset while this lives.
  IndexCodes(const RowLayout& layout, IndexSpace space, const std::int64_t* index, const GatherKernels& kernels,
             index_t most, index_t room, Arena& arena);

  /// From now on rows are those outputs of the last axis, of a plane that begins there.
  void set_row(const Pitches& plane, Range outputs);
  /// The codes of the row of outputs that begins at o. With `check`, false when an index is not of its window.
  bool read(const PlaceCoords& o, bool check, void* codes);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  const std::int64_t* dense_row(const PlaceCoords& o);

  const RowLayout& layout_;
  const IndexRule rule_;
  const PlaceCoords step_;
  const std::int64_t* index_;
  const GatherKernels& k_;
  Pitches plane_{};
  Range outputs_{};
  std::int64_t* dense_;  // a row of indices that are not beside each other
  std::int32_t* narrow_;
  std::int32_t* bases_;  // what each output of a row adds to its origin
  // Where the columns of each output may lie:
  std::int32_t* low_;
  std::int32_t* high_;
};

}  // namespace oriel::cpu
