// The valid taps of a window (S13, S20), as numbers: a long double holds every element of every dtype exactly.
#pragma once

#include "reference/geometry.h"
#include "reference/numbers.h"

namespace oriel::reference {

/// Whether a pooling has an op or an option that S13 to S20 define.
bool is_statistic(const Pooling& pooling);

/// Elements of any dtype.
long double read(Dtype dtype, const void* data, index_t element);

/// What a window sees: lists have an entry for each nominal tap, row-major; only entries of valid taps mean anything.
struct Taps {
  std::vector<std::size_t> sizes;  // nominal taps along each pooled axis
  std::vector<bool> valid;
  std::vector<index_t> elements;  // flat in x
  std::vector<long double> x;
  std::vector<double> weight;  // 1 without weights
  index_t exist = 0;           // taps that are in the input and in the footprint
  index_t count = 0;           // those that are valid
  index_t divisor = 0;         // S5
  std::size_t centre = 0;      // S19
  bool weighted = false;
  bool nan = false;  // whether one of them is NaN

  std::size_t size() const { return x.size(); }
  /// The numbers of the valid ones, ascending.
  std::vector<std::size_t> numbers() const;
};

/// Reads the windows of one call.
struct Source {
  const Pooling& pooling;
  Dtype dtype;
  const void* x;
  Beside beside;
  std::vector<Line> lines = make_lines(pooling);

  Taps window(const std::vector<index_t>& output) const;
  /// Whether the result is `fill` (S14).
  bool too_few(const Taps& taps) const;
  /// The floating type of sums of x (S7).
  bool sums_in_f64() const;
};

/// The taps with the largest and the least value (S3, S4); -1: there is none.
index_t extreme(const Taps& taps, bool largest);

/// What a quantile is made of: v(low) + (v(high) - v(low)) share, or their mean; low and high are numbers of taps.
struct Place {
  std::size_t low = 0, high = 0;
  double share = 0;
};
/// `taps` has a valid tap and no NaN.
Place place_of(const Pooling& pooling, const Taps& taps, std::size_t quantile);

}  // namespace oriel::reference
