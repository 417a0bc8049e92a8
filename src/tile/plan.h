// A program as the CPU and the GPU run it: loads that are read in place, and instructions that pass elements on without
// memory between them.
#pragma once

#include "oriel/tile/ir.h"

namespace oriel::tile {

/// The program, rewritten: its tiles that were loaded once are read where they lie, their loads are gone.
struct Plan {
  Program program;
  /// chain[i]: how many instructions from i on are run as one, by elements or by rows; 0 for those inside a chain.
  std::vector<int> chain;
  std::vector<bool> has_memory;  // of each tensor: whether anything still touches its memory
};
Plan plan_of(const Program& program);

}  // namespace oriel::tile
