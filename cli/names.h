// The words that options take.
#pragma once

#include <string>
#include <vector>

namespace oriel::cli {

/// The names of all element types, e.g. `f32`, and of all reductions, e.g. `max`.
std::vector<std::string> dtype_names();
std::vector<std::string> op_names();

}  // namespace oriel::cli
