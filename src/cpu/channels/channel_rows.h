// Rows of windows of a channels-last tensor: elements are folded across, along, lowered and stored without going
// through memory in between.
#pragma once

#include "cpu/element/epilogue.h"
#include "cpu/element/kinds.h"
#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

/// Rows of outputs. A position is `lanes` elements that lie side by side, tap t of output o at position
/// first + o * stride + t * dilation, in each of `across` rows of inputs. All distances are in elements.
struct LaneRows : PlaneLowering {
  index_t count = 1;
  const void* const* rows = nullptr;   // those of row r from r * across on: where position 0 lies
  const index_t* row_pitch = nullptr;  // from a position to the next; 0: a row of absent elements, one position long
  int across = 1;                      // taps of a window, as many as a LaneRowKernel takes
  int along = 1;
  int watched = 0;  // of a window's rows, the last that no earlier window has read; more may be looked at
  index_t first = 0;
  index_t stride = 1;
  index_t dilation = 1;
  index_t in = 0;   // positions that exist; taps at others are absent
  index_t out = 0;  // outputs, each with the same divisor
  index_t lanes = 0;
  bool along_first = false;  // taps are in the order of the axis along, then of the one across
  bool far = false;          // inputs are in no cache of a processor's own
  void* y = nullptr;
  index_t y_pitch = 0;      // from an output to the next
  index_t y_row_pitch = 0;  // from a row of outputs to the next
  void* scratch = nullptr;  // kLaneRowsKept rows of `lanes` folded elements and fewest_lanes more
};

inline constexpr index_t kLaneRowsKept = 2;
inline constexpr index_t kMostLaneRows = 16;  // of one call

/// The kernel of one reduction and element type.
struct LaneRowKernel {
  /// True when a NaN or a negative zero was met: then what was written is not to be trusted. Null: there is none.
  bool (*fold)(const LaneRows& rows) = nullptr;
  index_t fewest_lanes = 1;
  std::int16_t infinity = 0;  // for PlaneLowering

  /// Whether it has windows of this kind.
  static bool takes(index_t across, index_t along, index_t stride, index_t dilation) {
    if (across > 3 || along > kMaxFold) return false;
    return across == 1 || along <= 2 || (across == 3 && along == 3 && stride <= 2 && dilation == 1);
  }
};

/// The kernels of one instruction set; older ones have none.
struct LaneRowTable {
  LaneRowKernel (*max)(Dtype dtype) = nullptr;
  LaneRowKernel (*min)(Dtype dtype) = nullptr;
  LaneRowKernel (*sum)(Dtype dtype) = nullptr;
  LaneRowKernel (*bytes)(Dtype dtype) = nullptr;  // sums that sums_in_16_bits
};

/// The table of the instruction set in use.
const LaneRowTable& lane_row_kernels();

struct FoldJob;
/// The kernel that folds the windows of a job of many lanes; without `fold` there is none.
LaneRowKernel lane_rows_of(const FoldJob& job);

void fill_lane_rows_extremum(LaneRowTable& table, std::size_t which);
void fill_lane_rows_sum(LaneRowTable& table, std::size_t which);

}  // namespace oriel::cpu
