// Random small problems, every option of a pool among them.
#pragma once

#include <algorithm>
#include <random>

#include "oriel/problem.h"
#include "oriel/tensor.h"
#include "pool/fill.h"

namespace oriel::test {

inline index_t pick(std::mt19937_64& random, index_t least, index_t most) {
  return least + static_cast<index_t>(random() % static_cast<std::uint64_t>(most - least + 1));
}

inline Extents random_list(std::mt19937_64& random, int count, index_t least, index_t most) {
  Extents list;
  const index_t one = pick(random, least, most);
  const bool equal = random() % 3 == 0;
  for (int i = 0; i < count; ++i) list.push_back(equal ? one : pick(random, least, most));
  return list;
}

inline Extents random_order(std::mt19937_64& random, int count) {
  Extents order;
  for (int i = 0; i < count; ++i) order.push_back(i);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// A pool that may or may not fit a tensor of `shape`.
inline Pool random_pool(std::mt19937_64& random, const Extents& shape) {
  Pool pool;
  pool.op = static_cast<Op>(random() % 5);
  const int pooled = static_cast<int>(pick(random, 1, std::min<index_t>(shape.size(), kMaxPooledAxes)));
  const Extents all = random_order(random, shape.size());
  for (int i = 0; i < pooled; ++i) pool.windows.axes.push_back(all[i]);
  if (random() % 3 != 0) std::sort(pool.windows.axes.begin(), pool.windows.axes.end());
  const unsigned kind = random() % 8;
  pool.windows.kind = kind == 0 ? WindowKind::global : kind == 1 ? WindowKind::adaptive : WindowKind::uniform;
  if (pool.windows.kind == WindowKind::adaptive) pool.windows.output_size = random_list(random, pooled, 1, 7);
  if (pool.windows.kind == WindowKind::uniform) {
    pool.windows.kernel = random_list(random, pooled, 1, random() % 4 == 0 ? 11 : 4);
    if (random() % 4 != 0) pool.windows.stride = random_list(random, pooled, 1, 4);
    if (random() % 3 == 0) pool.windows.dilation = random_list(random, pooled, 1, 3);
    pool.windows.padding = random() % 5 == 0 ? static_cast<Padding>(1 + random() % 2) : Padding::given;
    if (pool.windows.padding == Padding::given) {
      if (random() % 2 == 0) pool.windows.pad_lo = random_list(random, pooled, 0, random() % 4 == 0 ? 9 : 2);
      if (random() % 3 == 0) pool.windows.pad_hi = random_list(random, pooled, 0, random() % 4 == 0 ? 9 : 2);
      pool.windows.ceil_mode = random() % 3 == 0;
    }
  }
  if (pool.op == Op::avg) {
    pool.count_include_pad = random() % 2 == 0;
    if (random() % 4 == 0) pool.divisor = pick(random, 1, 9);
  }
  const double norms[] = {1, 2, 2, 3, 1.5, HUGE_VAL};
  if (pool.op == Op::lp) pool.norm = norms[random() % 6];
  if (random() % 4 == 0) pool.nan = NanPolicy::omit;
  return pool;
}

/// A problem of about `size` input elements at most.
inline Problem random_problem(std::mt19937_64& random, index_t size) {
  for (;;) {
    const int rank = static_cast<int>(random() % 10 == 0 ? pick(random, 5, 9) : pick(random, 1, 4));
    Extents shape;
    index_t left = size;
    for (int a = 0; a < rank; ++a) {
      shape.push_back(pick(random, 1, std::min<index_t>(left, random() % 4 == 0 ? size : 12)));
      left = std::max<index_t>(1, left / shape.back());
    }
    if (random() % 2 == 0) std::shuffle(shape.begin(), shape.end(), random);
    const Pool pool = random_pool(random, shape);
    try {
      Problem p = make_problem(pool, static_cast<Dtype>(random() % 13), shape);
      if (random() % 3 == 0) p.order = random_order(random, rank);
      if (element_count(p.output_shape) <= 20 * size && p.taps() <= 2000 &&
          p.taps() * element_count(p.output_shape) <= 1000 * size)
        return p;
    } catch (const Error&) {
      // The window does not fit.
    }
  }
}

}  // namespace oriel::test
