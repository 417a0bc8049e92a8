// The shipped kernels of the tile language as functions of the module.
#pragma once

#include <nanobind/nanobind.h>

namespace oriel::python {

/// Adds tile_run, tile_text and tile_findings.
void bind_tile(nanobind::module_& m);

}  // namespace oriel::python
