// A program as the CPU runs it: loads that are read in place, and chains of instructions that pass rows on in cache.
#pragma once

#include "oriel/tile/ir.h"

namespace oriel::tile {

/// The program, rewritten: its tiles that were loaded once are read where they lie, their loads are gone.
struct CpuPlan {
  Program program;
  /// chain[i]: how many instructions from i on are run row by row as one; 0 for those inside a chain.
  std::vector<int> chain;
  std::vector<bool> has_memory;  // of each tensor: whether anything still touches its memory
};
CpuPlan plan_cpu(const Program& program);

}  // namespace oriel::tile
