// Chunks of which a part has been made.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "pyramid/plan.h"

namespace oriel::detail {

/// Puts parts of chunks together and hands whole ones to the sink. Several threads use it at once.
class ChunkBoard {
 public:
  /// `shared`: whether other ranks make parts of the same chunks.
  ChunkBoard(const PyramidPlan& plan, PyramidSink& sink, bool shared)
      : plan_(plan), sink_(sink), shared_(shared), open_(plan.levels.size()) {}

  /// What a tile has of a level.
  void put(int level, const LevelBox& box, const ConstTensor& values);
  /// The same if all elements have one value.
  void put_uniform(int level, const LevelBox& box, const void* element);

  /// Gives what there is of chunks that other ranks have the rest of.
  void give_parts();

  /// Bytes of all chunks that are held now, or were at the most.
  index_t most_bytes() const { return most_bytes_; }
  index_t written() const { return written_; }
  index_t uniform() const { return uniform_; }
  /// Chunks that have not become whole: none, in the end.
  index_t left() const;

 private:
  // The elements that came first had one value, which is kept instead of them until others come.
  struct Open {
    std::vector<std::byte> data;
    std::vector<std::byte> element;
    std::vector<LevelBox> uniform;  // of that value, in the chunk
    std::vector<LevelBox> parts;    // all that came, in the chunk, if other ranks have others
    index_t left = 0;
  };

  struct Part {
    Extents chunk_begin, chunk_shape, in_chunk, in_box, shape;
    index_t key = 0;
    bool whole() const { return shape == chunk_shape; }
  };
  Part whole_chunk(int level, index_t key) const;
  template <class Use>
  void for_each_part(int level, const LevelBox& box, const Use& use) const;
  void add(int level, const Part& part, const ConstTensor* values, const void* element);
  void make_data(int level, const Part& part, Open& chunk);
  void give(int level, const Part& part, Open chunk);
  Tensor chunk_tensor(int level, const Part& part, Open& chunk) const;
  void hold(index_t bytes);

  const PyramidPlan& plan_;
  PyramidSink& sink_;
  const bool shared_;
  std::mutex mutex_;
  std::vector<std::map<index_t, Open>> open_;  // of each level
  index_t bytes_ = 0, most_bytes_ = 0, written_ = 0, uniform_ = 0;
};

}  // namespace oriel::detail
