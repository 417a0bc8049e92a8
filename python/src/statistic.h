// Pools over valid taps in the module: their options as a dict, masks and weights as arrays.
#pragma once

#include <nanobind/nanobind.h>

#include "oriel/pool.h"

namespace oriel::python {

struct Array;

/// `options_of` says how a call runs on arrays like that one.
void bind_statistic(nanobind::module_& m, Options (*options_of)(const Array& like));

}  // namespace oriel::python
