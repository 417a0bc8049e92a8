// Rows of states in memory, and their joins.
#pragma once

#include <span>

#include "cpu/runtime/arena.h"
#include "cpu/states/join_kernels.h"

namespace oriel::cpu {

class Joiner {
 public:
  /// `bounded`: see make_scale.
  Joiner(std::span<const Group> groups, bool bounded);

  /// The memory of a row of n states.
  index_t row_bytes(index_t n) const { return whole_steps(n) * state_bytes_; }
  StateRow row_in(std::byte* memory, index_t n) const {
    StateRow row;
    for (std::size_t f = 0; f < fields_; ++f) {
      row.at[f] = memory;
      memory += whole_steps(n) * bytes_[f];
    }
    return row;
  }
  StateRow take_row(index_t n, Arena& arena) const { return row_in(arena.take(row_bytes(n)), n); }
  /// A row from state number i on.
  StateRow moved_row(const StateRow& row, index_t i) const {
    StateRow to;
    for (std::size_t f = 0; f < fields_; ++f) to.at[f] = row.at[f] + i * bytes_[f];
    return to;
  }

  /// The fields of a state, and the bytes of each.
  std::size_t fields() const { return fields_; }
  index_t bytes(std::size_t field) const { return bytes_[field]; }

  /// out = a joined with b, which have na and nb taps in each state; both are not 0.
  void join(const StateRow& a, index_t na, const StateRow& b, index_t nb, const StateRow& out, index_t n);
  void copy(const StateRow& from, const StateRow& to, index_t n) const;
  /// States of no tap, n of them.
  void clear(const StateRow& row, index_t n) const;

 private:
  const JoinScale& scale(index_t na, index_t nb);

  struct Part {
    Join join = Join::add_f64;
    int first = 0;  // of its fields
  };

  std::size_t groups_ = 0, fields_ = 0;
  std::array<Part, kMostGroups> group_{};
  std::array<index_t, kMostFields> bytes_{};
  index_t state_bytes_ = 0;
  bool bounded_, scaled_ = false;
  const JoinTable& kernels_;
  std::array<JoinScale, 64> scales_;  // of the numbers that came last
};

/// Parts of a window of `width` taps of which tap 0 comes first, joined in the tree of S8.
class PartTree {
 public:
  /// A row of states of n taps; of none if n is 0.
  struct Part {
    StateRow row;
    index_t n = 0;
    int room = -1;  // in which it lies; -1: elsewhere
  };

  /// Makes room for windows of at most `most` taps and rows of `width` states.
  PartTree(Joiner& joiner, index_t most, index_t width, Arena& arena);

  /// Room for a row; it is given back by add, or by hand.
  int take_room() { return free_[--free_count_]; }
  void give_room(int room) {
    if (room >= 0) free_[free_count_++] = room;
  }
  const StateRow& room(int i) const { return rooms_[i]; }

  /// Adds tap t; taps are added in ascending order from 0, those that do not exist too.
  void add(index_t t, Part part, index_t n);
  /// out = the fold of `width` taps; returns the number of taps in each state.
  index_t finish(index_t width, index_t n, const StateRow& out);

 private:
  Part merge(const Part& a, const Part& b, index_t n);

  Joiner& joiner_;
  StateRow* rooms_;
  int* free_;
  int free_count_ = 0;
  std::array<Part, 64> waiting_;
};

}  // namespace oriel::cpu
