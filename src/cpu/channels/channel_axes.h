// The axes of a tensor whose lanes stand side by side, and the rows of elements that its windows read.
#pragma once

#include "cpu/lifted/lifted_rows.h"
#include "cpu/plan/fold.h"
#include "cpu/plan/tiling.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

/// What the folders of one job share.
struct ChannelAxes {
  ChannelAxes(const FoldJob& of, const Tiling& tiling);

  const Axis& axis(int number) const { return job.layout.axis[static_cast<std::size_t>(number)].axis; }
  /// From an input of a pooled axis to the next, in bytes.
  index_t input_bytes(int number) const {
    return job.layout.axis[static_cast<std::size_t>(number)].pitch[kX] * job.plain.in_bytes;
  }
  /// Without a row axis in the layout, every output of `along` is a row of the tiling.
  bool along_is_cut() const { return job.layout.row_axis < 0 && along >= 0; }

  const FoldJob& job;
  const ElementKernels kernels;
  const bool mends;                        // a fold goes on when it has met a special value
  int along = -1;                          // the pooled axis along a row; -1: none
  InlineList<int, kMaxPooledAxes> across;  // the others, in the order of sums
  index_t in_pitch = 0, out_pitch = 0;     // of positions along a row, in elements
  bool dense = true;                       // a row of x is one run of memory
};

/// The rows of elements that outputs of an axis across them read, and which of those have been watched.
class TapRows {
 public:
  /// For rows of at most `elems` elements. Takes its memory from `arena`, which must not be reset while it lives.
  TapRows(const ChannelAxes& axes, index_t elems, Arena& arena)
      : axes_(axes), absent_(make_identity(*axes.job.problem, elems, arena)) {}

  /// Writes where the rows lie that an output of the pooled axis `number` reads; with -1 the row x itself. Returns how
  /// many of them, at the end, no earlier window has read.
  index_t list(int number, index_t output, const std::byte* x, const std::byte** rows);

  /// A row that changes nothing, which stands for taps that do not exist.
  const std::byte* absent() const { return absent_; }
  /// The inputs of the axis across that have been watched, counted from its first; 0 where another part of them begins.
  index_t watched() const { return watched_; }
  void set_watched(index_t inputs) { watched_ = inputs; }

 private:
  const ChannelAxes& axes_;
  std::byte* const absent_;
  index_t watched_ = 0;
};

}  // namespace oriel::cpu
