// On the CPU: the instructions whose elements depend on each other, scans and max8, a partition at a time.
#pragma once

#include <span>
#include <vector>

#include "oriel/tile/ir.h"

namespace oriel::tile {

bool is_serial(const Instruction& i);
void run_serial(const Program& program, const Instruction& i, const std::vector<void*>& memory, const Values& counters);
/// Puts the value where it belongs among 8 descending ones, of which the least is dropped; a NaN is the largest.
void insert8(std::span<float, 8> top, float value);

}  // namespace oriel::tile
