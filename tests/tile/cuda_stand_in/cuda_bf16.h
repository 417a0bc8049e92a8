#pragma once

#include "oriel/types.h"

using __nv_bfloat16 = oriel::bfloat16;
inline float __bfloat162float(__nv_bfloat16 x) { return static_cast<float>(x); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(static_cast<double>(x)); }
