// What is folded: the state of one place, in a few groups, each of a field or several that are joined together.
#pragma once

#include <array>

#include "oriel/types.h"

namespace oriel::cpu {

/// How two states of a group become one. A state of `moments` is (S, M) of S18, whose number of taps is known from the
/// geometry; one of `counted` is (S, M, n), with weights (S, M, W).
enum class Join : std::uint8_t { add_u32, add_u64, add_f32, add_f64, multiply_f64, multiply_u64, moments, counted };
inline constexpr std::size_t kJoins = 8;

constexpr int fields_of(Join join) { return join == Join::counted ? 3 : join == Join::moments ? 2 : 1; }
constexpr index_t bytes_of(Join join) { return join == Join::add_u32 || join == Join::add_f32 ? 4 : 8; }

/// What a valid tap x of weight w is in a group.
enum class Term : std::uint8_t {
  value,
  square,
  absolute,
  power,           // |x|^p
  product,         // w x
  square_product,  // w x^2
  weight,
  count,      // 1
  nonzero,    // 1 if x is not 0
  zero,       // 1 if x is 0
  logarithm,  // NaN of negative numbers, 0 of zeros
  reciprocal,
  low,             // of a 64-bit integer the lower 32 bits
  high,            // and the upper ones, with its sign
  state,           // (x, 0) or (x, 0, 1); M is NaN if x is not finite
  weighted_state,  // (w x, 0, w)
};

struct Group {
  Join join = Join::add_f64;
  Term term = Term::value;
};

inline constexpr int kMostGroups = 4;
inline constexpr int kMostFields = 4;

/// Rows of states have room for a multiple of this number, and kernels go through as many.
inline constexpr index_t kRowStep = 16;
constexpr index_t whole_steps(index_t n) { return (n + kRowStep - 1) / kRowStep * kRowStep; }

/// A row of states: each field is a row of its own, those of the first group before those of the next.
struct StateRow {
  std::array<std::byte*, kMostFields> at;

  template <class A>
  A* as(std::size_t field) const {
    return reinterpret_cast<A*>(at[field]);
  }
};

/// Those of one group.
struct Fields {
  std::byte* const* at;

  Fields(const StateRow& row, int first) : at(row.at.data() + first) {}
  template <class A>
  A* as(std::size_t field = 0) const {
    return reinterpret_cast<A*>(at[field]);
  }
};

/// How M of S18 grows when parts of na and nb taps are joined: by (a Sa - b Sb)^2 / divisor.
struct JoinScale {
  enum class Way : std::uint8_t {
    halves,         // a = b = 1, the divisor is a power of two: by its reciprocal `high`
    equal,          // a = b = 1: by high and low, the sum of which is its reciprocal
    multiply,       // a = 1: in the same way
    multiply_both,  // in the same way
    divide,
  };

  index_t na = 0, nb = 0;
  Way way = Way::divide;
  double a = 1, b = 1;
  double divisor = 1, high = 1, low = 0;
};

}  // namespace oriel::cpu
