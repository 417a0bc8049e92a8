// Kernels that nvcc_test.py compiles for every architecture and looks at: one of each kind and element size.
#include "cuda/apart.cuh"
#include "cuda/chosen.cuh"
#include "cuda/gather.cuh"
#include "cuda/lane_columns.cuh"
#include "cuda/lane_gradient.cuh"
#include "cuda/lanes.cuh"
#include "cuda/overlap.cuh"
#include "cuda/staged.cuh"
#include "cuda/stream.cuh"
#include "cuda/strip.cuh"

namespace oriel::cuda {

// Taking their addresses makes them.
extern void* const kProbed[];
void* const kProbed[] = {
    reinterpret_cast<void*>(&strip<Extreme<float>, float, 1, 2, 2, 0, 2, false>),
    reinterpret_cast<void*>(&strip<Extreme<half>, half, 1, 3, 1, 1, 8, false>),
    reinterpret_cast<void*>(&strip<Total<bfloat16>, bfloat16, 1, 3, 2, 1, 4, false>),
    reinterpret_cast<void*>(&strip<Extreme<std::uint8_t>, std::uint8_t, 1, 2, 2, 0, 8, false>),
    reinterpret_cast<void*>(&strip<Extreme<float>, float, 1, 2, 2, 0, 2, true>),
    reinterpret_cast<void*>(&strip<Total<half>, half, 1, 3, 1, 1, 8, true>),
    reinterpret_cast<void*>(&strip<Extreme<std::uint8_t>, std::uint8_t, 1, 3, 1, 1, 16, true>),
    reinterpret_cast<void*>(&strip<Total<std::uint8_t>, std::uint8_t, 2, 2, 2, 0, 8, true>),
    reinterpret_cast<void*>(&strip_codes<float, 3, 2, 1, 2, true>),
    reinterpret_cast<void*>(&strip_codes<std::uint8_t, 3, 1, 1, 16, true>),
    reinterpret_cast<void*>(&lanes<Total<std::uint8_t>, std::uint8_t, 3, 0, 16, false>),
    reinterpret_cast<void*>(&lanes<Total<float>, float, 3, 2, 4, false>),
    reinterpret_cast<void*>(&lanes<Extreme<half>, half, 3, 1, 8, false>),
    reinterpret_cast<void*>(&strip_codes<float, 2, 2, 0, 2, false>),
    reinterpret_cast<void*>(&strip_codes<half, 3, 2, 1, 4, false>),
    reinterpret_cast<void*>(&lanes<Extreme<float>, float, 3, 2, 4, true>),
    reinterpret_cast<void*>(&staged<Extreme<float>, float>),
    reinterpret_cast<void*>(&staged<Total<half>, half>),
    reinterpret_cast<void*>(&lane_columns<Extreme<half>, half, false>),
    reinterpret_cast<void*>(&lane_columns<Total<float>, float, false>),
    reinterpret_cast<void*>(&lane_columns<Total<float>, float, true>),
    reinterpret_cast<void*>(&chosen<float, std::uint8_t>),
    reinterpret_cast<void*>(&stream<Extreme<float>, float>),
    reinterpret_cast<void*>(&stream<Total<half>, half>),
    reinterpret_cast<void*>(&apart<float, 2, true>),
    reinterpret_cast<void*>(&overlap_extremum<float, 3, 2, 1, 2, false>),
    reinterpret_cast<void*>(&overlap_extremum<half, 3, 1, 1, 8, false>),
    reinterpret_cast<void*>(&overlap_extremum<float, 3, 1, 1, 4, true>),
    reinterpret_cast<void*>(&overlap_extremum<bfloat16, 3, 2, 1, 4, true>),
    reinterpret_cast<void*>(&overlap_extremum<half, 3, 1, 1, 8, true>),
    reinterpret_cast<void*>(&overlap_sum<half, 3, 2, 1, 4, true>),
    reinterpret_cast<void*>(&overlap_sum<float, 3, 2, 1, 2, false>),
    reinterpret_cast<void*>(&overlap_sum<bfloat16, 3, 1, 1, 8, false>),
    reinterpret_cast<void*>(&lane_gradients<float, 3, 2, 4, true>),
    reinterpret_cast<void*>(&lane_gradients<half, 3, 1, 8, false>),
    reinterpret_cast<void*>(&gather_extremum<float, std::uint32_t>),
};

}  // namespace oriel::cuda
