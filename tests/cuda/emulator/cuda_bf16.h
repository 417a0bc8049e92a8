// CUDA's bfloat16 type for the grid emulator, by Oriel's own conversions.
#pragma once

#include "oriel/types.h"

struct __nv_bfloat16 {
  unsigned short bits;
};
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {bits}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) { return b.bits; }
inline float __bfloat162float(__nv_bfloat16 b) { return oriel::bfloat16::from_bits(b.bits); }
inline __nv_bfloat16 __float2bfloat16_rn(float v) { return {oriel::bfloat16(static_cast<double>(v)).bits}; }
