// What the options of pools over valid taps (S13-S20) may be, and for which ops.
#pragma once

#include <string_view>

#include "oriel/problem.h"

namespace oriel::detail {

/// What an op computes of the valid taps of a window.
enum class Family : std::uint8_t { extremum, sum, count, pick, rank, vote, moment };
Family family_of(Op op);

/// Whether each result is one of the taps, so that it has an index (S10).
ORIEL_API bool selects_tap(const Pool& pool);
/// Whether the op has weights (S13).
ORIEL_API bool has_weights(const Pool& pool);
/// Whether the op has a gradient.
ORIEL_API bool has_gradient(const Pool& pool);
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
