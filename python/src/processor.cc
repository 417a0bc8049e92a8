#include "processor.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

#include <asm/hwcap.h>
#endif

namespace oriel::python {
namespace {

struct Instructions {
  const char* name;
  bool present;
};

// The compiler defines a name for each of them that it may use. Of those that come together one is enough.
Instructions needed(int index) {
  const Instructions all[] = {
#if defined(__x86_64__) && defined(__SSSE3__)
    {"SSSE3", __builtin_cpu_supports("ssse3") != 0},
#endif
#if defined(__x86_64__) && defined(__SSE4_2__)
    {"SSE4.2", __builtin_cpu_supports("sse4.2") != 0},
#endif
#if defined(__x86_64__) && defined(__AVX__)
    {"AVX", __builtin_cpu_supports("avx") != 0},
#endif
#if defined(__x86_64__) && defined(__AVX2__)
    {"AVX2", __builtin_cpu_supports("avx2") != 0},
#endif
#if defined(__x86_64__) && defined(__FMA__)
    {"FMA", __builtin_cpu_supports("fma") != 0},
#endif
#if defined(__x86_64__) && defined(__BMI2__)
    {"BMI2", __builtin_cpu_supports("bmi2") != 0},
#endif
#if defined(__x86_64__) && defined(__XOP__)
    {"XOP", __builtin_cpu_supports("xop") != 0},
#endif
#if defined(__x86_64__) && defined(__AVX512F__)
    {"AVX-512F", __builtin_cpu_supports("avx512f") != 0},
#endif
#if defined(__x86_64__) && defined(__AVX512BW__)
    {"AVX-512BW", __builtin_cpu_supports("avx512bw") != 0},
#endif
#if defined(__aarch64__) && defined(__linux__) && defined(__ARM_FEATURE_ATOMICS)
    {"LSE", (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0},
#endif
#if defined(__aarch64__) && defined(__linux__) && defined(__ARM_FEATURE_DOTPROD)
    {"DotProd", (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0},
#endif
#if defined(__aarch64__) && defined(__linux__) && defined(__ARM_FEATURE_SVE)
    {"SVE", (getauxval(AT_HWCAP) & HWCAP_SVE) != 0},
#endif
    {nullptr, false},
  };
  return all[index];
}

}  // namespace

const char* missing_instructions() {
  int index = 0;
  while (needed(index).present) ++index;
  return needed(index).name;
}

}  // namespace oriel::python
