// Partitions to test with: every one of a small extent, and random ones.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "oriel/distributed.h"

namespace oriel::test {

inline std::string text(const distributed::Cuts& cuts) {
  std::string s;
  for (index_t b : cuts.bounds()) s += (s.empty() ? "" : ",") + std::to_string(b);
  return "[" + s + "]";
}

inline std::string text(const distributed::Partition& partition) {
  std::string s;
  for (int a = 0; a < partition.rank(); ++a) s += text(partition.along(a));
  return s;
}

/// Every way to cut n into `parts` parts, empty ones too.
inline std::vector<distributed::Cuts> all_cuts(index_t n, index_t parts) {
  std::vector<distributed::Cuts> all;
  std::vector<index_t> bounds(static_cast<std::size_t>(parts) + 1, 0);
  bounds.back() = n;
  while (true) {
    all.emplace_back(bounds);
    std::size_t at = bounds.size() - 2;
    while (at > 0 && bounds[at] == n) --at;
    if (at == 0) return all;
    const index_t next = bounds[at] + 1;
    for (; at + 1 < bounds.size(); ++at) bounds[at] = next;
  }
}

inline distributed::Cuts random_cuts(std::mt19937_64& random, index_t n, index_t parts) {
  if (random() % 3 == 0) return distributed::Cuts::balanced(n, parts);
  std::vector<index_t> bounds = {0, n};
  for (index_t p = 1; p < parts; ++p)
    bounds.push_back(static_cast<index_t>(random() % static_cast<std::uint64_t>(n + 1)));
  std::sort(bounds.begin(), bounds.end());
  return distributed::Cuts(bounds);
}

/// A grid of `ranks` parts over so many axes.
inline Extents random_grid(std::mt19937_64& random, int axes, index_t ranks) {
  Extents grid = Extents::filled(axes, 1);
  for (index_t factor = 2; ranks > 1; ++factor) {
    while (ranks % factor == 0) {
      grid[static_cast<int>(random() % static_cast<std::uint64_t>(axes))] *= factor;
      ranks /= factor;
    }
  }
  return grid;
}

inline distributed::Partition random_partition(std::mt19937_64& random, const Extents& shape, index_t ranks) {
  const Extents grid = random_grid(random, shape.size(), ranks);
  std::vector<distributed::Cuts> cuts;
  for (int a = 0; a < shape.size(); ++a) cuts.push_back(random_cuts(random, shape[a], grid[a]));
  return distributed::Partition(cuts);
}

}  // namespace oriel::test
