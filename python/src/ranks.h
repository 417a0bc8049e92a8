// One rank's part of a pool that is divided among ranks (oriel/distributed.h): the class LocalPool of the module.
#pragma once

#include <nanobind/nanobind.h>

#include "oriel/pool.h"

namespace oriel::python {

/// `options` gives what calls from this thread run with.
void bind_ranks(nanobind::module_& m, Options (*options)());

}  // namespace oriel::python
