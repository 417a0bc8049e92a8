// The two generations' writers; each takes a program of its own instructions.
#pragma once

#include <string>

#include "oriel/tile/ir.h"

namespace oriel::tile {

std::string emit_isa(const Program& program);
std::string emit_old(const Program& program);

}  // namespace oriel::tile
