// Rows split by place modulo the windows' step.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// `inputs` groups of `lanes` elements of `bytes` bytes each, the first of which are of phase 0, 1 ... step - 1, 0 ...
struct PhaseRow {
  const void* from;
  index_t step;
  index_t inputs;
  index_t least;  // groups that every phase has
  index_t used;   // phases that are asked for: the first ones
  index_t lanes;
  index_t bytes;
  index_t pitch;  // from a phase's row to the next one's, in bytes
  void* to;
};
using SplitPhases = void (*)(const PhaseRow& row);

/// That of the instruction set in use. Reads and writes nothing beyond the last group.
SplitPhases split_phases();

}  // namespace oriel::cpu
