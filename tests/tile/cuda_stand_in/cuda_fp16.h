// The stand-in's 16-bit floats are Oriel's.
#pragma once

#include "oriel/types.h"

using __half = oriel::half;
inline float __half2float(__half x) { return static_cast<float>(x); }
inline __half __float2half_rn(float x) { return __half(static_cast<double>(x)); }
