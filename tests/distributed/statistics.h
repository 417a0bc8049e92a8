// Random pools over valid taps (S13 to S20), undivided, to be compared with divided ones.
#pragma once

#include "distributed/divided.h"
#include "pool/statistic_case.h"

namespace oriel::test {

/// The elements of a mask or of weights, of a type for each of x's, as those that a call is given.
template <class To, class From>
Bytes given_elements(const StatisticCase& c, const std::vector<From>& all) {
  const std::vector<std::size_t> numbers = c.shared ? shared_numbers(c.problem) : std::vector<std::size_t>();
  const index_t count = element_count(c.shared ? shared_shape(c.problem) : c.problem.shape);
  Bytes bytes(static_cast<std::size_t>(count) * sizeof(To));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const To value = static_cast<To>(all[i]);
    std::memcpy(bytes.data() + (c.shared ? numbers[i] : i) * sizeof value, &value, sizeof value);
  }
  return bytes;
}

/// A random case of one quantile at most: what divided pools have.
inline Whole random_whole_statistic(std::mt19937_64& random, index_t size) {
  StatisticCase c = random_statistic(random, size);
  while (c.problem.pool.q.size() > 1) c = random_statistic(random, size);
  const Extents shape = c.shared ? shared_shape(c.problem) : c.problem.shape;
  DividedBeside beside;
  if (!c.mask.empty()) {
    beside.shapes.mask = shape;
    beside.mask_dtype = c.mask_dtype;
    beside.mask = given_elements<std::uint8_t>(c, c.mask);
  }
  if (!c.weights.empty()) {
    beside.shapes.weights = shape;
    beside.shapes.weights_dtype = c.weights_dtype;
    beside.weights =
        c.weights_dtype == Dtype::f32 ? given_elements<float>(c, c.weights) : given_elements<double>(c, c.weights);
  }
  return Whole(c.problem, std::move(beside), c.x, c.data, random);
}

}  // namespace oriel::test
