// Pools over valid taps in the module: their options as a dict, masks and weights as arrays.
#pragma once

#include <nanobind/nanobind.h>

#include "arguments.h"
#include "oriel/pool.h"

namespace oriel::python {

struct Array;

/// The pool with the options of a dict, or without if there is none; None values are as if they were not there.
PythonPool with_options(const PythonPool& pool, nb::handle options);

/// `options_of` says how a call runs on arrays like that one.
void bind_statistic(nanobind::module_& m, Options (*options_of)(const Array& like));

}  // namespace oriel::python
