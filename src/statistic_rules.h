// What the options of pools over valid taps (S13-S20) may be, and for which ops.
#pragma once

#include <string_view>

#include "oriel/problem.h"

namespace oriel::detail {

/// What an op computes of the valid taps of a window.
enum class Family : std::uint8_t { extremum, sum, count, pick, rank, vote, moment };
inline Family family_of(Op op) {
  switch (op) {
#define ORIEL_OP(name, family) \
  case Op::name:               \
    return Family::family;
#include "oriel/ops.def"
#undef ORIEL_OP
  }
  name(op);  // throws for a value that names no op
  return {};
}

/// Whether each result is one of the taps, so that it has an index (S10).
inline bool selects_tap(const Pool& pool) {
  switch (pool.op) {
    case Op::max:
    case Op::min:
    case Op::first:
    case Op::centre:
    case Op::mode:
      return true;
    case Op::median:
    case Op::quantile:
      return pool.method != Quantile::midpoint && pool.method != Quantile::linear;
    default:
      return false;
  }
}
/// Whether the op has weights (S13).
inline bool has_weights(const Pool& pool) {
  switch (pool.op) {
    case Op::sum:
    case Op::avg:
    case Op::var:
    case Op::std:
    case Op::rms:
    case Op::mode:
      return true;
    case Op::median:
    case Op::quantile:
      return pool.method == Quantile::inverted_cdf && !pool.rank;
    default:
      return false;
  }
}
/// Whether the op has a gradient.
inline bool has_gradient(const Pool& pool) {
  switch (family_of(pool.op)) {
    case Family::count:
    case Family::vote:
      return false;
    default:
      return true;
  }
}
/// Least number of valid taps that the op needs (S14).
index_t needed_taps(const Pool& pool);
/// The number of quantiles that a call computes: results of the first axis if it is more than one.
index_t quantile_count(const Pool& pool);

/// Whether `value` is a value of `dtype`; NaN and infinities are of the floating ones.
bool is_representable(const Scalar& value, Dtype dtype);
/// The bytes of a representable value.
void store(const Scalar& value, Dtype dtype, void* to);
/// `0`, `-1.5`, `nan`.
std::string to_string(const Scalar& value);

/// Checks all options that have nothing to do with a shape. Throws Error in the name of `function`.
void check_statistic(std::string_view function, const Pool& pool, Dtype dtype);
/// Checks those that depend on the windows, once these are known.
void check_statistic_windows(std::string_view function, const Problem& problem);

}  // namespace oriel::detail
