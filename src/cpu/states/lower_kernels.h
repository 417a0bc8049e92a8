// Rows of folded states to rows of results, per instruction set.
#pragma once

#include "cpu/states/state.h"

namespace oriel::cpu {

/// What a result is made of.
enum class Value : std::uint8_t {
  real,          // the sum
  real_average,  // the sum by the divisor
  weighted_average,
  root,        // of the sum
  power_root,  // the 1/p-th power of the sum
  whole,       // an integer sum or product
  whole_average,
  long_sum,  // a real number from sums of both halves of 64-bit integers
  long_average,
  whole_root,  // the nearest integer to the root
  whole_real_root,
  variance,
  exact_variance,  // of sums of integers and of their squares
  mean_square,
  weighted_mean_square,
  exact_mean_square,
  positive,  // whether a count is not 0
  none,      // whether it is
  geometric,
  harmonic,
};

struct LowerRule {
  Value value = Value::real;
  Dtype result = Dtype::f32;
  Join join = Join::add_f64;  // of the first group, and whether its integers have a sign
  bool is_signed = false;
  bool takes_root = false;  // of the variance or mean square
  bool odd = false;         // averages: quotients of f64 are rounded to odd first
  bool small = false;  // averages of integers: sums and divisors are small enough for quotients of f64, or long_sum.h
  bool weighted = false;  // variances: divided by the sum of weights
  double ddof = 0, norm = 2;
  bool lacks = false;  // there may be too few valid taps for a result
  double least = 0, fraction = 0;
  alignas(8) std::array<std::byte, 8> fill{};
};

/// n results without gaps.
struct LowerRow {
  StateRow state;
  const double* count = nullptr;     // valid taps
  const double* existing = nullptr;  // taps that exist
  const double* divisor = nullptr;   // of an average
  index_t n = 0;
  double* room = nullptr;  // for n values
  void* y = nullptr;
};

using LowerElements = void (*)(const LowerRow& row, const LowerRule& rule);
/// Counts as numbers, n rounded up to kRowStep.
using WidenCounts = void (*)(const std::uint32_t* counts, index_t n, double* out);
struct LowerTable {
  LowerElements lower = nullptr;
  WidenCounts widen = nullptr;
};

const LowerTable& lower_elements();

}  // namespace oriel::cpu
