// Resolution pyramids in the module.
#pragma once

#include <nanobind/nanobind.h>

namespace oriel::python {

void bind_pyramid(nanobind::module_& m);

}  // namespace oriel::python
