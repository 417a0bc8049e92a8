// Chords of a footprint, and the maxima over them for the rows of a band of outputs.
#pragma once

#include <vector>

#include "cpu/chords/chord_kernels.h"
#include "cpu/tap_rows/tap_rows.h"

namespace oriel::cpu {

/// A run of taps along a row: as a maximum that of two runs of a power of two of taps.
struct Chord {
  index_t outer = 0;  // number of the tap of the outer axes across
  index_t inner = 0;  // tap of the innermost
  index_t begin = 0;  // first tap along
  int level = 0;      // log2 of the longest power of two that is not longer
  index_t move = 0;   // from that many taps to as many that end where the chord does
};

/// What all threads share.
struct ChordPlan {
  ChordPlan(const Statistic& job, int threads);

  struct Place {
    index_t outer, inner, along;
  };

  TapPlan rows;
  std::vector<Chord> chords;
  std::vector<Place> taps;                    // those of the footprint in scan order
  int levels = 1;                             // of powers of two that chords are made of
  Axis inner = Axis::uniform(1, 1, 1, 0, 0);  // the innermost axis across, of which rows are kept
  Pitches inner_pitch{};
  index_t outer_taps = 1, outer_outputs = 1;  // of the other axes across
  index_t band_outputs = 1, bands = 1;        // along the innermost axis
  index_t tile_outputs = 1, tiles = 1;        // along rows

  index_t tasks() const { return rows.layout.plane_count() * outer_outputs * tiles * bands; }
  index_t task_bytes() const;

 private:
  void list_chords();
  void cut(int threads);
};

/// One thread's tasks.
class ChordFolder {
 public:
  // Takes its memory from `arena`, which must not be reset while it lives.
  ChordFolder(const ChordPlan& plan, Arena& arena);
  void fold(index_t task);

 private:
  // The rows of keys of one order: of every row that is kept all powers of two.
  struct Keys {
    KeyRule rule;
    std::byte* levels = nullptr;
  };
  // A row of x that is kept.
  struct Row {
    const std::byte* x = nullptr;  // its input 0; null: absent
    bool negative_zero = false;
  };

  void start(index_t task);
  void fetch(index_t input);
  void lift(const std::byte* x, index_t number, Row& row);
  void fold_row(index_t output);
  void fold_keys(const Keys& keys, std::byte* out);
  bool has_negative_zero() const;
  template <class U>
  void mend_zeros(U* y) const;
  // The number among the rows that are kept of that of a tap, after the rows of an output have been fetched.
  index_t number_of(index_t outer, index_t inner) const {
    const index_t kernel = plan_.inner.kernel, slot = first_slot_ + inner;
    return outer * kernel + (slot < kernel ? slot : slot - kernel);
  }
  std::byte* level(const Keys& keys, index_t number, int level) const {
    return keys.levels + (number * plan_.levels + level) * width_ * plan_.rows.in_bytes;
  }

  const ChordPlan& plan_;
  const ChordKernels kernels_;
  const bool range_;
  const index_t width_;  // elements of a padded row
  std::array<Keys, 2> keys_;
  Row* kept_ = nullptr;
  const void** list_ = nullptr;
  index_t* outer_offset_ = nullptr;  // in x, of every tap of the outer axes; kNowhere: absent
  std::byte *gathered_ = nullptr, *greatest_ = nullptr, *high_ = nullptr, *low_ = nullptr;
  alignas(8) std::array<std::array<std::byte, 8>, 2> no_key_{};

  Axis tile_;  // the task
  Range band_{};
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
  index_t first_input_ = 0, inputs_ = 0, before_ = 0;  // of a padded row
  index_t places_ = 0;
  index_t first_slot_ = 0;  // of the first tap of the innermost axis across
};

}  // namespace oriel::cpu
