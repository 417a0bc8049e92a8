// Every step-th group of a few bytes.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// to[i] = from[i * step] for n groups of `bytes` bytes each, any number of them and any step >= 1. Reads nothing
/// beyond the last group and writes exactly n groups.
using StridedCopy = void (*)(const void* from, index_t step, index_t n, index_t bytes, void* to);

/// That of the instruction set in use.
StridedCopy strided_copy();

}  // namespace oriel::cpu
