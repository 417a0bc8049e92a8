// How many cases tests run that would take minutes with all of them.
#pragma once

#include <cstdlib>

namespace oriel::test {

// Whether every case is run for every element type, as at night, or cases are shared out among the types.
inline bool every_case() { return std::getenv("ORIEL_EVERY_CASE") != nullptr; }

}  // namespace oriel::test
