// The kernel that this thread is recording.
#pragma once

#include <string>
#include <vector>

#include "oriel/tile/language.h"

namespace oriel::tile {

class Recorder {
 public:
  /// Makes this the thread's recorder until it is destroyed. Throws Failure when there is one already.
  explicit Recorder(std::string name);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The thread's recorder; throws Failure where no kernel is being recorded.
  static Recorder& current(const Where& where);

  /// `what`: how messages call it.
  nl::tensor add_tensor(const Extents& shape, Dtype dtype, Space space, const Place& where,
                        const std::string& what = "");
  void add(Instruction instruction);
  int open_loop(index_t begin, index_t step, index_t trips, bool ordered, const Place& where);
  void close_loop();
  /// Throws Failure when the tensor was made in a loop that has ended.
  void check_scope(int tensor, const Place& where) const;
  /// The loops around this point.
  std::size_t depth() const { return open_.size(); }
  /// True when the last instruction made all of the tile that `value` is, and nothing else names or uses that tile.
  bool made_last(const nl::tensor& value) const;
  /// True when the last instruction may write there instead.
  bool may_move_last(const Access& dst) const;
  /// Lets the last instruction write there, and forgets the tile that it made.
  void replace_last(const Access& dst);

  Program program;

 private:
  std::vector<int> open_;                // counters of the loops around this point, with how each scope is told apart
  std::vector<std::size_t> made_at_;     // of each tensor: the instructions before its creation
  std::vector<std::vector<int>> scope_;  // of each tensor: the loops around its creation
};

/// Conditions on the axes of an instruction with these counts. Throws Failure when one depends on several axes.
std::vector<Condition> conditions_of(const nl::mask& mask, const Values& counts, const Place& where);

}  // namespace oriel::tile
