// The boxes of level 0 that a pyramid is made of, one after the other.
#pragma once

#include <optional>

#include "oriel/pyramid.h"
#include "pyramid/rules.h"

namespace oriel::detail {

struct LevelBox {
  Extents begin, shape;  ///< in elements of the level
  bool empty() const;
};

/// The numbers of places in a grid, in Z order: places that are close have numbers that are close. Some numbers are of
/// no place, as the grid is no power of two.
class ZOrder {
 public:
  ZOrder() = default;
  explicit ZOrder(const Extents& grid);

  int bits() const { return bits_in_all_; }
  /// The place with a number below 2^bits; nothing if that is outside of the grid.
  std::optional<Extents> place(index_t number) const;
  index_t number(const Extents& place) const;
  /// How many places have smaller numbers than `number`, which is at most 2^bits.
  index_t places_before(index_t number) const;
  /// The numbers of one of several ranks, from `begin` to before `end`: as many places for each.
  struct Run {
    index_t begin = 0, end = 0, places = 0;
  };
  Run run(int rank, int ranks) const;

 private:
  Extents grid_;
  Extents bits_;  // of a place's number along each axis
  int bits_in_all_ = 0;
};

/// A division of all levels into boxes, tiles, that belong together: what a tile has of a level is made of what it has
/// of the level before. Tiles are gone through in Z order, so that a chunk that several tiles make a part of becomes
/// whole soon.
class Tiling {
 public:
  Tiling(const Pyramid& pyramid, Dtype dtype, const Extents& shape, const PyramidOptions& options);

  const PyramidPlan& plan() const { return plan_; }
  const std::vector<PyramidLevel>& levels() const { return plan_.levels; }
  /// The deepest level that tiles make; those above are made of what they have left (carries), all at once.
  int top() const { return top_; }
  /// The first level that the sink gets.
  int first() const { return first_; }
  /// Places in Z order; some of them are outside of the volume and have no tile.
  index_t places() const { return index_t{1} << order_.bits(); }
  std::optional<Extents> tile(index_t place) const { return order_.place(place); }
  ZOrder::Run run(int rank, int ranks) const { return order_.run(rank, ranks); }
  /// What a tile has of a level; what all tiles have is the level.
  LevelBox box(const Extents& tile, int level) const;
  /// The windows that make `to` of level j from `from` of level i < j.
  Windows windows(const LevelBox& from, int i, const LevelBox& to, int j) const;
  /// For each output along an axis of a box, the elements of level 0 that its window holds.
  std::vector<index_t> taps(const LevelBox& box, int level, int axis) const;

 private:
  void choose_top(const Pyramid& pyramid);
  void choose_chunks(const PyramidOptions& options);
  void fit(const PyramidOptions& options);
  void choose_tile(const PyramidOptions& options, index_t share);
  void lay_out();
  void set_memory(const PyramidOptions& options);
  index_t tile_bytes() const;
  index_t open_bytes(int level) const;
  index_t tile_extent(int level, int axis) const;
  index_t begin_of_level(int level, int axis) const;  // on the grid that windows start from

  PyramidPlan plan_;
  Extents origin_;
  index_t carry_bytes_ = 0;  // of an element
  int first_ = 1, top_ = 0;
  Extents unit_;  // elements of level top_ in a tile
  Extents grid_;  // tiles along each axis
  ZOrder order_;
};

}  // namespace oriel::detail
