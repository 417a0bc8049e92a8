// Rows as columns.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// to[c * rows + r] = from[r * columns + c] for values of 1, 2, 4 or 8 bytes.
using Transpose = void (*)(const void* from, index_t rows, index_t columns, index_t bytes, void* to);

/// That of the instruction set in use.
Transpose transpose_kernel();

}  // namespace oriel::cpu
