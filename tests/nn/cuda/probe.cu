// Kernels that registers_test.py compiles for every architecture and looks at: each kind, with and without vectors.
#include "nn/cuda/convolution.cuh"
#include "nn/cuda/head.cuh"
#include "nn/cuda/raise.cuh"

namespace oriel::nn::cuda {

// Taking their addresses makes them.
extern void* const kProbed[];
void* const kProbed[] = {
    reinterpret_cast<void*>(&convolution<8, 1, true>),
    reinterpret_cast<void*>(&convolution<1, 4, false>),
    reinterpret_cast<void*>(&raising<8, 1, true>),
    reinterpret_cast<void*>(&heads<1, 4>),
};

}  // namespace oriel::nn::cuda
