// What the instruction set that a file is being compiled for can do. Highway gives a better set of a processor family a
// lower number, and counts on from those it has: a set that only a newer Highway knows (AVX3_ZEN4, AVX3_SPR, AVX10_2)
// is asked for what it contains, never by its name. Whoever uses these includes this file itself, since the
// preprocessor takes a name that it does not know for 0; scripts/check_floors.py looks.
#pragma once

#include "hwy/detect_targets.h"

// Vectors of 32 bytes, conversions of f16, fused multiply-adds.
#define ORIEL_AVX2 (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)
// Vectors of 64 bytes, masks, lanes of two vectors in any order.
#define ORIEL_AVX512 (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)
// Bytes of two vectors in any order (VBMI).
#define ORIEL_AVX512_BYTES (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL)
// Vectors of 64-bit Arm.
#define ORIEL_NEON (HWY_ARCH_ARM_A64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// Conversions of f16, with infinities and NaN, which Highway's emulation does not know, and fused multiply-adds.
#define ORIEL_HALF_AND_FUSED (ORIEL_AVX2 || ORIEL_NEON)
// Sets that have kernels of planes, channels and masked rows. For older ones "rows" does as well there.
#define ORIEL_PLANES ORIEL_HALF_AND_FUSED
