// The levels of one tile, each made of what is kept of the one before.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pyramid/plan.h"
#include "pyramid/way.h"

namespace oriel::detail {

/// Memory that is used again for every tile.
class Scratch {
 public:
  /// From the start again: what was taken may be overwritten.
  void reset() { taken_ = 0; }
  std::byte* take(index_t bytes);
  /// A dense tensor of elements that are not set.
  Tensor tensor(Dtype dtype, const Extents& shape);
  index_t bytes() const;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    index_t bytes = 0;
  };
  std::vector<Block> blocks_;
  std::size_t taken_ = 0;
};

/// What is kept of a level's elements to make the next one of.
struct Carry {
  ConstTensor value;   ///< level 0 itself; values; or sums in i32, i64 or f64
  ConstTensor counts;  ///< i64, numbers of valid elements, if they are needed
};

/// Makes levels. Threads share one, with a Scratch each.
class LevelMaker {
 public:
  LevelMaker(const Pyramid& pyramid, const Tiling& tiling);

  using Put = std::function<void(int level, const LevelBox& box, const ConstTensor& values)>;
  using BoxOf = std::function<LevelBox(int level)>;
  /// Makes the levels `from` + 1 to `last`, as far as box_of says, of what is kept of level `from`. Calls put for each.
  /// Returns what is kept of the last, in `scratch`. `threads` are those of each pool.
  Carry climb(const Carry& carry, int from, int last, const BoxOf& box_of, Scratch& scratch, int threads,
              const Put& put) const;

  Way way() const { return way_; }
  /// Dtypes of what climb returns for a level.
  Dtype value_dtype(int level) const;
  bool has_counts() const { return counted_; }

 private:
  Tensor pooled(const Pool& pool, const Windows& windows, const ConstTensor& x, const Extents& shape, Scratch& scratch,
                int threads) const;
  Carry add_up(const Carry& carry, int from, const Windows& windows, int to, const Extents& shape, Scratch& scratch,
               int threads) const;
  Tensor lowered(const Carry& carry, int level, const LevelBox& box, Scratch& scratch) const;
  Tensor picked(const ConstTensor& x, const LevelBox& from, int level, const LevelBox& box, Scratch& scratch) const;

  const Pyramid& pyramid_;
  const Tiling& tiling_;
  Way way_;
  bool counted_;
};

}  // namespace oriel::detail
