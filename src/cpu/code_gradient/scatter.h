// Backward of max and min from stored codes, output by output: for windows of many taps, and for what is not gathered.
#pragma once

#include "cpu/code_gradient/shape.h"

namespace oriel::cpu {

/// Whether codes can be scattered: there are no channels, or dense ones.
bool scatters_codes(const RowLayout& layout);

/// dx from dy and u8 codes at `code`; of the layout, kX are the pitches of dx, kY of dy, kIndex of codes. The problem's
/// axes are in the tensor's order. False if a code is of no tap that its window has; then dx may have been written.
bool scatter_codes(const Problem& problem, const RowLayout& layout, const void* dy, const std::uint8_t* code, void* dx,
                   int threads);

}  // namespace oriel::cpu
