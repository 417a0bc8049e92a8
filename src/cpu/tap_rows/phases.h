// Rows split by place modulo the windows' step.
#pragma once

#include <cstddef>

#include "oriel/types.h"

namespace oriel::cpu {

/// Rows of groups of `lanes` elements of `bytes` bytes each, the first of which are of phase 0, 1 ... step - 1, 0 ...
struct PhaseRows {
  const std::byte* const* rows = nullptr;  // null: there is none
  index_t count = 1;
  index_t first = 0;  // where the first group is in a row, in bytes
  index_t step = 1;
  index_t inputs = 0;  // groups of a row
  index_t least = 0;   // groups that every phase that is used has
  index_t used = 1;    // phases that are asked for: the first ones
  index_t lanes = 1;
  index_t bytes = 1;
  index_t pitch = 0;  // from a phase's row to the next one's, in bytes; after them come those of the next row
  index_t ahead = 0;  // from what is read to what will be next, in bytes
  void* to = nullptr;
};
using SplitPhases = void (*)(const PhaseRows& rows);

/// That of the instruction set in use. Reads and writes nothing beyond the last group.
SplitPhases split_phases();

}  // namespace oriel::cpu
