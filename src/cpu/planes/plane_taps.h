// Which rows of inputs the windows across rows read.
#pragma once

#include "cpu/plan/layout.h"
#include "cpu/plan/tiling.h"
#include "cpu/planes/plane_kernels.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

inline constexpr index_t kMostBandRows = 64;

/// The windows of a job across its rows.
struct PlaneAxes {
  explicit PlaneAxes(const RowLayout& layout);

  Axis across = Axis::uniform(1, 1, 1, 0, 0);  // a lone row, when only the row axis is pooled
  Pitches across_pitch{};
  Axis depth;  // of volumes: folded before `across`
  Pitches depth_pitch{};
  bool deep = false;
};

/// Of volumes: rows that are folded along the depth, in a ring by number, so that windows across find them again.
class DepthRing {
 public:
  DepthRing(const PlaneAxes& axes, const PlaneKernel& kernel) : axes_(axes), kernel_(kernel) {}
  // `far`: x is in no cache of a processor's own. Prefetches are then in the way of the hardware's.
  void make(const Tiling& tiling, const std::byte* absent, bool far, Arena& arena);

  // Rows of outputs whose taps fit the ring together.
  index_t rows_at_once() const { return chunk_; }
  void begin_slice() { end_ = 0; }
  // Folds the rows of a slice of outputs that are not there yet; `elems` of each. True when a special value was met.
  bool fold(const std::byte* x, index_t slice, Range rows, index_t elems);
  // Where a row is; -1: one that changes nothing.
  const std::byte* row(index_t number) const {
    return rows_ + (number < 0 ? count_ : number % count_) * band_.folded_pitch * kernel_.lane_bytes;
  }

 private:
  const PlaneAxes& axes_;
  const PlaneKernel& kernel_;
  PlaneBand band_;
  const std::byte* absent_ = nullptr;  // a row of elements that change nothing
  bool far_ = false;
  const void** taps_ = nullptr;
  std::byte* rows_ = nullptr;
  index_t count_ = 0;
  index_t end_ = 0;  // rows before it are there
  index_t chunk_ = kMostBandRows;
};

/// The rows that the windows across of a band read: of x, or of volumes those in the ring.
class BandTaps {
 public:
  BandTaps(const PlaneAxes& axes, const PlaneKernel& kernel, const DepthRing& ring, Arena& arena)
      : axes_(axes),
        kernel_(kernel),
        ring_(ring),
        taps_(arena.take_array<const void*>(kMostBandRows * axes.across.kernel)),
        offset_(arena.take_array<index_t>(kMostBandRows * axes.across.kernel)) {}
  void set_absent(const std::byte* row) { absent_ = row; }

  // Lists the rows of outputs from rows.begin on that count alike, none from rows.end on. Returns which they are.
  // goes_on(r) tells whether row r counts like the first.
  template <class GoesOn>
  Range list(const std::byte* x, Range rows, const GoesOn& goes_on) {
    if (listed_.begin == rows.begin && most_ == rows.end) {
      move(x);
      return listed_;
    }
    listed_ = {rows.begin, rows.begin};
    most_ = rows.end;
    do {
      add(x, listed_.end++);
    } while (listed_.end < rows.end && goes_on(listed_.end));
    return listed_;
  }
  const void* const* taps() const { return taps_; }

 private:
  void add(const std::byte* x, index_t row);
  // The same rows of another plane, or of another tile.
  void move(const std::byte* x);

  const PlaneAxes& axes_;
  const PlaneKernel& kernel_;
  const DepthRing& ring_;
  const std::byte* absent_ = nullptr;  // a row of elements that change nothing
  const void** const taps_;
  index_t* const offset_;    // of every tap, from the beginning of a plane
  Range listed_ = {-1, -1};  // the rows whose taps are there
  index_t most_ = -1;        // where they might have ended
};

}  // namespace oriel::cpu
