// CUDA's half type for the grid emulator, by Oriel's own conversions.
#pragma once

#include "oriel/types.h"

struct __half {
  unsigned short bits;
};
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
inline unsigned short __half_as_ushort(__half h) { return h.bits; }
inline float __half2float(__half h) { return oriel::half::from_bits(h.bits); }
inline __half __float2half_rn(float v) { return {oriel::half(static_cast<double>(v)).bits}; }
