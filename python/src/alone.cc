// The module of a build without the CPU backend (ORIEL_CPU=OFF): it has no pyramids, no ranks and no tile language.
#include <nanobind/nanobind.h>

#include "pyramid.h"
#include "ranks.h"
#include "tile.h"

namespace oriel::python {

void bind_pyramid(nanobind::module_&) {}
void bind_ranks(nanobind::module_&, Options (*)()) {}
void bind_tile(nanobind::module_&) {}

}  // namespace oriel::python
