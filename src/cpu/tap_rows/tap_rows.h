// Windows of few taps as rows: for every tap the values that neighbouring results have of it, one after the other. What
// strategies over valid taps fold.
#pragma once

#include "cpu/plan/layout.h"
#include "cpu/plan/statistic.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/line_writer.h"

namespace oriel::cpu {

/// Neighbouring results of one row whose windows have the same taps.
struct TapRun {
  const void* const* taps = nullptr;   // of each nominal tap in scan order its n values; null: absent
  const void* const* masks = nullptr;  // bytes of the mask in the same way; null: no mask
  index_t exist = 0;                   // taps that exist (S2), whatever the footprint
  index_t has = 0;                     // of which the footprint has so many: those that are not null
  index_t divisor = 1;                 // of an average (S5) if all existing taps are valid
  index_t n = 0;
  void* y = nullptr;  // n results
};

/// How the rows of a job are cut and read: the same for all threads.
struct TapPlan {
  explicit TapPlan(const Statistic& job);

  /// Whether x, y and the mask, if any, are laid out so that this works: any uniform windows.
  static bool can(const Statistic& job);

  const Statistic& job;
  RowLayout layout;  // the mask is the operand kIndex
  Axis along;        // windows along the rows
  index_t lanes = 1;
  Pitches along_pitch{}, lane_pitch{};
  InlineList<int, kMaxPooledAxes> across;  // the numbers of the other axes
  index_t across_taps = 1;
  index_t rows = 1;  // of results in a plane
  index_t tile_outputs = 1, tiles = 1;
  index_t in_bytes = 1, out_bytes = 1;
  bool dense_x = false, dense_mask = false, dense_y = false;
  bool past_caches = false;

  index_t items() const { return layout.plane_count() * rows * tiles; }
  index_t item_bytes() const { return across_taps * tile_outputs * along.stride * lanes * in_bytes; }
};

/// One thread's walk over some items of a plan.
class TapReader {
 public:
  // Takes its memory from `arena`, which must not be reset while it lives.
  TapReader(const TapPlan& plan, Arena& arena);

  /// Calls body(run) for all results of an item, which writes run.n results.
  template <class Body>
  void each_run(index_t item, Body&& body) {
    begin(item);
    const Range full = tile_.full();
    for (index_t o = 0; o < tile_.out;) {
      const index_t end = full.contains(o) ? full.end : o + 1;
      body(run({o, end}));
      o = end;
    }
    finish();
  }

 private:
  // The rows of one operand.
  struct Source {
    const std::byte* data = nullptr;
    Operand operand = kX;
    index_t bytes = 1;
    bool dense = false;
    std::byte* gathered = nullptr;     // of every tap across
    std::byte* phases = nullptr;       // the same, split by place modulo the step
    const std::byte** rows = nullptr;  // of every tap across, from the tile's first input on; null: absent
    const void** taps = nullptr;
  };

  Source make_source(const void* data, Operand operand, index_t bytes, bool dense, Arena& arena) const;
  void begin(index_t item);
  void find_rows(Source& s, index_t plane) const;
  void gather(const Source& s, const std::byte* from, std::byte* to) const;
  void split(const Source& s) const;
  void list_taps(const Source& s, Range outputs, bool full) const;
  TapRun run(Range outputs);
  void finish();

  const TapPlan& plan_;
  index_t row_elems_ = 0;    // of a gathered row
  index_t phase_elems_ = 0;  // of a row of a phase
  Source x_, mask_;
  std::byte* results_ = nullptr;
  const std::uint8_t* footprint_ = nullptr;
  index_t* place_ = nullptr;  // of tap t of row a of a window in scan order
  index_t exist_across_ = 0, divisor_across_ = 0;
  RowCoords coords_{};
  Axis tile_;
  Range outputs_{};
  bool split_ = false;
  std::byte* y_ = nullptr;
  std::byte* to_ = nullptr;
  LineWriter writer_;
};

}  // namespace oriel::cpu
