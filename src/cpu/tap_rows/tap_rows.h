// Windows of few taps as rows: for every tap the values that neighbouring results have of it, one after the other. What
// strategies over valid taps fold.
#pragma once

#include "cpu/plan/layout.h"
#include "cpu/plan/statistic.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/line_writer.h"
#include "cpu/tap_rows/phases.h"

namespace oriel::cpu {

/// Neighbouring results of one row whose windows have the same taps.
struct TapRun {
  const void* const* taps = nullptr;   // of each nominal tap in scan order its n values; null: absent
  const void* const* masks = nullptr;  // bytes of the mask in the same way; null: no mask
  index_t exist = 0;                   // taps that exist (S2), whatever the footprint
  index_t has = 0;                     // of which the footprint has so many: those that are not null
  index_t divisor = 1;                 // of an average (S5) if all existing taps are valid
  index_t n = 0;
  bool pairs = false;  // taps 2t and 2t + 1 lie beside each other, in any order: value i is taps[t][2 i]
  index_t ahead = 0;   // of pairs: from what is read to what will be next, in bytes
  void* y = nullptr;   // n results
};

/// `n` positions of `lanes` elements each along a row: from one to the next in elements, which have `bytes` bytes.
struct RowShape {
  index_t n = 1;
  index_t pitch = 1;
  index_t lanes = 1;
  index_t lane_pitch = 1;
  index_t bytes = 1;
};
/// A row as one run of memory, and back.
void gather_row(const std::byte* from, const RowShape& shape, std::byte* to);
void scatter_row(const std::byte* from, const RowShape& shape, std::byte* to);

/// Whether a strategy takes pairs of taps: never, only in scan order, or in any order.
enum class TapPairs : std::uint8_t { none, in_order, any };

/// How the rows of a job are cut and read: the same for all threads.
struct TapPlan {
  explicit TapPlan(const Statistic& job, TapPairs pairs = TapPairs::none);

  /// Whether this works: any uniform windows.
  static bool can(const Statistic& job);

  const Statistic& job;
  RowLayout layout;  // the mask is the operand kIndex
  Axis along;        // windows along the rows
  index_t lanes = 1;
  Pitches along_pitch{}, lane_pitch{};
  InlineList<int, kMaxPooledAxes> across;  // the numbers of the other axes, outermost in memory first
  index_t across_taps = 1;
  index_t rows = 1;  // of results in a plane
  index_t tile_outputs = 1, tiles = 1;
  index_t in_bytes = 1, out_bytes = 1;
  bool dense_x = false, dense_mask = false, dense_y = false;
  bool past_caches = false;
  bool pairs = false;    // of windows of two taps side by side along rows
  bool divides = false;  // whether runs have divisors

  index_t items() const { return layout.plane_count() * rows * tiles; }
  RowShape row_shape(Operand operand, index_t n) const {
    const index_t bytes = operand == kX ? in_bytes : operand == kY ? out_bytes : 1;
    return {n, along_pitch[operand], lanes, lane_pitch[operand], bytes};
  }
  index_t item_bytes() const { return across_taps * tile_outputs * along.stride * lanes * in_bytes; }
};

/// One thread's walk over some items of a plan.
class TapReader {
 public:
  // Takes its memory from `arena`, which must not be reset while it lives.
  TapReader(const TapPlan& plan, Arena& arena);

  /// Calls body(run) for all results of the items from `first` to `last`, which writes run.n results.
  template <class Body>
  void each_run(index_t first, index_t last, Body&& body) {
    for (index_t item = first; item < last; ++item) {
      begin(item, item == first);
      for (index_t o = 0; o < tile_.out;) {
        const index_t end = full_.contains(o) ? full_.end : o + 1;
        body(run({o, end}));
        o = end;
      }
      finish();
    }
  }

 private:
  // One operand.
  struct Source {
    const std::byte* data = nullptr;
    Operand operand = kX;
    index_t bytes = 1;
    bool dense = false;
    std::byte* gathered = nullptr;     // of every tap across
    std::byte* phases = nullptr;       // the same, split by place modulo the step
    const std::byte** rows = nullptr;  // of every tap across, from the tile's first input on; null: absent
    index_t* offsets = nullptr;        // of every tap of an axis across, one axis after the other
    const void** taps = nullptr;
  };
  // Where an axis across is.
  struct Across {
    const PooledAxis* axis;
    int number;
    index_t output;
    index_t first;  // of its offsets
    index_t exist;
    index_t divisor;
  };

  Source make_source(const void* data, Operand operand, index_t bytes, bool dense, Arena& arena) const;
  void list_places();
  index_t ahead(const Source& s) const;
  void begin(index_t item, bool first);
  void to_next_row();
  void move_across(bool first);
  void cut_tile(index_t tile);
  void find_rows(Source& s) const;
  void split(const Source& s) const;
  void list_taps(const Source& s, Range outputs, bool full) const;
  TapRun run(Range outputs);
  void finish();

  const TapPlan& plan_;
  index_t row_elems_ = 0;    // of a gathered row
  index_t phase_elems_ = 0;  // of a row of a phase
  index_t across_outputs_ = 0;
  Source x_, mask_;
  std::byte* results_ = nullptr;
  const std::uint8_t* footprint_ = nullptr;
  index_t* place_ = nullptr;  // of tap t of row a of a window in scan order
  InlineList<Across, kMaxPooledAxes> across_;
  index_t exist_across_ = 0, divisor_across_ = 0;
  bool all_rows_ = false;  // whether every tap across exists
  index_t plane_ = -1;
  RowCoords coords_{};
  index_t tile_number_ = -1;
  Axis tile_;
  Range outputs_{}, full_{};
  bool splits_ = false;
  const SplitPhases split_;
  bool listed_ = false;  // the taps of full windows, which are phases and all there
  index_t has_ = 0;
  std::byte* y_ = nullptr;
  std::byte* to_ = nullptr;
  LineWriter writer_;
};

}  // namespace oriel::cpu
