// Pools checked and resolved in the name of the function that was called: what make_problem and the functions of
// oriel/pool.h share.
#pragma once

#include <string_view>

#include "oriel/problem.h"

namespace oriel::detail {

/// The name that errors give a pool of that op: `max_pool`. Throws Error for a value that names no op.
std::string_view function_of(Op op);

/// make_problem whose errors begin with `function`.
Problem resolve(std::string_view function, const Pool& pool, Dtype dtype, const Extents& shape);

/// A problem of which only the shape and the pooled axes are known: these `axes`, or all if there are none. Throws
/// Error as resolve does.
Problem resolve_axes(std::string_view function, const Extents& axes, const Extents& shape);

}  // namespace oriel::detail
