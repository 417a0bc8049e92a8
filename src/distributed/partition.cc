#include <fmt/format.h>

#include <algorithm>

#include "oriel/distributed.h"
#include "oriel/tensor.h"

namespace oriel::distributed {

Cuts::Cuts(std::vector<index_t> bounds) : bounds_(std::move(bounds)) {
  if (bounds_.size() < 2)
    throw Error(fmt::format("cuts: at least 2 bounds are needed, but there are {}", bounds_.size()));
  if (bounds_.front() != 0) throw Error(fmt::format("cuts: the first bound must be 0, but is {}", bounds_.front()));
  const auto descent = std::is_sorted_until(bounds_.begin(), bounds_.end());
  if (descent != bounds_.end()) {
    throw Error(fmt::format("cuts: bounds must ascend, but {} follows {}", *descent, *(descent - 1)));
  }
}

Cuts Cuts::balanced(index_t n, index_t parts) {
  if (n < 0) throw Error(fmt::format("cuts: the extent must be >= 0, but is {}", n));
  if (parts < 1) throw Error(fmt::format("cuts: the number of parts must be >= 1, but is {}", parts));
  std::vector<index_t> bounds(static_cast<std::size_t>(parts) + 1, 0);
  for (index_t p = 0; p < parts; ++p) {
    const std::size_t at = static_cast<std::size_t>(p);
    bounds[at + 1] = bounds[at] + n / parts + (p < n % parts ? 1 : 0);
  }
  return Cuts(std::move(bounds));
}

index_t Cuts::owner(index_t i) const {
  // The last bound that is not above i begins the part, whatever empty parts begin there too.
  return std::upper_bound(bounds_.begin(), bounds_.end(), i) - bounds_.begin() - 1;
}

Range Cuts::owners(Range range) const {
  if (range.empty()) return {};
  return {owner(range.begin), owner(range.end - 1) + 1};
}

Cuts centred_outputs(const Axis& axis, const Cuts& inputs) {
  std::vector<index_t> bounds = {0};
  for (index_t p = 0; p + 1 < inputs.parts(); ++p) {
    index_t low = bounds.back(), high = axis.out;  // the first output whose centre is at the cut or behind it
    while (low < high) {
      const index_t middle = low + (high - low) / 2;
      if (axis.centre(middle) >= inputs.part(p).end)
        high = middle;
      else
        low = middle + 1;
    }
    bounds.push_back(low);
  }
  bounds.push_back(axis.out);
  return Cuts(std::move(bounds));
}

Extents Box::shape() const {
  Extents shape;
  for (int a = 0; a < begin.size(); ++a) shape.push_back(along(a).size());
  return shape;
}

index_t Box::element_count() const {
  index_t count = 1;
  for (int a = 0; a < begin.size(); ++a) count *= along(a).size();
  return count;
}

Box intersect(const Box& a, const Box& b) {
  Box box;
  for (int d = 0; d < a.begin.size(); ++d) {
    const Range common = oriel::intersect(a.along(d), b.along(d));
    box.begin.push_back(common.begin);
    box.end.push_back(common.end);
  }
  return box;
}

std::vector<Box> around(const Box& all, const Box& inner) {
  if (all.empty()) return {};
  if (inner.empty()) return {all};
  std::vector<Box> boxes;
  Box rest = all;
  for (int d = 0; d < all.begin.size(); ++d) {
    Box low = rest, high = rest;
    low.end[d] = inner.begin[d];
    high.begin[d] = inner.end[d];
    for (const Box& box : {low, high}) {
      if (!box.empty()) boxes.push_back(box);
    }
    rest.begin[d] = inner.begin[d];
    rest.end[d] = inner.end[d];
  }
  return boxes;
}

Partition::Partition(std::vector<Cuts> cuts) : cuts_(std::move(cuts)) {
  if (cuts_.empty() || cuts_.size() > kMaxRank) {
    throw Error(fmt::format("partition: 1 to {} axes are supported, but there are {}", kMaxRank, cuts_.size()));
  }
  for (const Cuts& c : cuts_) {
    if (__builtin_mul_overflow(ranks_, c.parts(), &ranks_)) throw Error("partition: at most 2^63 - 1 ranks");
  }
}

Partition Partition::balanced(const Extents& shape, const Extents& grid) {
  if (shape.size() != grid.size()) {
    throw Error(fmt::format("partition: the grid must have one number of parts per axis, {}, but has {}", shape.size(),
                            grid.size()));
  }
  std::vector<Cuts> cuts;
  for (int a = 0; a < shape.size(); ++a) cuts.push_back(Cuts::balanced(shape[a], grid[a]));
  return Partition(std::move(cuts));
}

Extents Partition::shape() const {
  Extents shape;
  for (const Cuts& c : cuts_) shape.push_back(c.extent());
  return shape;
}

Extents Partition::grid() const {
  Extents grid;
  for (const Cuts& c : cuts_) grid.push_back(c.parts());
  return grid;
}

Extents Partition::coordinates(index_t r) const {
  Extents place = Extents::filled(rank(), 0);
  for (int a = rank() - 1; a >= 0; --a) {
    place[a] = r % along(a).parts();
    r /= along(a).parts();
  }
  return place;
}

index_t Partition::rank_at(const Extents& coordinates) const {
  index_t r = 0;
  for (int a = 0; a < rank(); ++a) r = r * along(a).parts() + coordinates[a];
  return r;
}

Box Partition::part(index_t r) const {
  const Extents at = coordinates(r);
  Box box;
  for (int a = 0; a < rank(); ++a) {
    const Range range = along(a).part(at[a]);
    box.begin.push_back(range.begin);
    box.end.push_back(range.end);
  }
  return box;
}

Partition centred_outputs(const Problem& problem, const Partition& inputs) {
  std::vector<Cuts> cuts;
  for (int d = 0; d < inputs.rank(); ++d) cuts.push_back(inputs.along(d));
  for (int a = 0; a < problem.pooled; ++a) {
    const std::size_t i = static_cast<std::size_t>(a), d = static_cast<std::size_t>(problem.axes[i]);
    if (d < cuts.size()) cuts[d] = centred_outputs(problem.axis[i], cuts[d]);
  }
  return Partition(std::move(cuts));
}

}  // namespace oriel::distributed
