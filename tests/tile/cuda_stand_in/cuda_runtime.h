// A stand-in for CUDA on the CPU, for emitted texts: the words of the language, and a grid whose blocks run one after
// the other. Threads of a block are fibers: between two barriers they run one at a time, in a given order, so a race
// shows as bits that depend on the order. It says nothing about a device's own arithmetic.
#pragma once

#include <ucontext.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline dim3 blockIdx, threadIdx, blockDim, gridDim;

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __int_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

namespace cuda_stand_in {

struct Fiber {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(64 * 1024);
  bool done = false;
};
inline ucontext_t scheduler;
inline Fiber* current = nullptr;
inline const std::function<void()>* kernel = nullptr;

inline void enter() {
  (*kernel)();
  current->done = true;
  swapcontext(&current->context, &scheduler);
}

/// Runs every block; `descending`: the last block first, and of its threads the last one.
inline void launch(unsigned blocks, unsigned threads, bool descending, const std::function<void()>& body) {
  static std::vector<Fiber> fibers;
  if (fibers.size() < threads) fibers = std::vector<Fiber>(threads);
  kernel = &body;
  gridDim.x = blocks;
  blockDim.x = threads;
  for (unsigned b = 0; b < blocks; ++b) {
    blockIdx.x = descending ? blocks - 1 - b : b;
    for (unsigned t = 0; t < threads; ++t) {
      Fiber& f = fibers[t];
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack.data();
      f.context.uc_stack.ss_size = f.stack.size();
      f.done = false;
      makecontext(&f.context, enter, 0);
    }
    for (unsigned left = threads; left > 0;) {
      const unsigned before = left;
      for (unsigned k = 0; k < threads; ++k) {
        threadIdx.x = descending ? threads - 1 - k : k;
        current = &fibers[threadIdx.x];
        swapcontext(&scheduler, &current->context);
        left -= current->done ? 1 : 0;
      }
      if (left != 0 && left != before) {
        std::fprintf(stderr, "cuda stand-in: only some threads of a block reached a barrier\n");
        std::abort();
      }
    }
  }
}

}  // namespace cuda_stand_in

inline void __syncthreads() { swapcontext(&cuda_stand_in::current->context, &cuda_stand_in::scheduler); }
