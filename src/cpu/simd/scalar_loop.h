// Loops that the compiler makes no vectors of.
#pragma once

/// In the body of a loop: of loads or stores apart from each other vectors are long code that is no quicker.
#define ORIEL_SCALAR_LOOP asm volatile("")

/// The same in the scalar kernels of x86 alone, which are to be short: they run on processors without SSE4 and AES
/// (before about 2011), or when asked for.
#define ORIEL_SPARE_SCALAR_LOOP \
  if constexpr (HWY_TARGET == HWY_SCALAR && HWY_ARCH_X86) ORIEL_SCALAR_LOOP
