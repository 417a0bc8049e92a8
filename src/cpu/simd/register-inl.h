// Keeping vectors in registers. Included once per target.
#if defined(ORIEL_CPU_SIMD_REGISTER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_SIMD_REGISTER_INL_H
#undef ORIEL_CPU_SIMD_REGISTER_INL_H
#else
#define ORIEL_CPU_SIMD_REGISTER_INL_H
#endif

#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// GCC reads a vector that it has loaded again for each of its uses. With AVX-512, of whose vectors caches give one at a
// time, 3x3 step 2 took a quarter longer for it. The vector that comes out of this is in a register.
template <class V>
HWY_INLINE void keep_in_register([[maybe_unused]] V& v) {
#if ORIEL_AVX512 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(v.raw));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
