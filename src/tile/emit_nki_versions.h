// The two generations' writers; each takes a program of its own instructions.
#pragma once

#include <string>

#include "oriel/tile/ir.h"

namespace oriel::tile {

std::string emit_nki_0_6(const Program& program);
std::string emit_nki_0_1(const Program& program);

}  // namespace oriel::tile
