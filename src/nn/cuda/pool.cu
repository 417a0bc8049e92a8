#include "nn/cuda/pool.cuh"

#include "cuda/device/launch.cuh"
#include "nn/cuda/tiling.h"

namespace oriel::nn::cuda {
namespace {

template <int N>
void launch_maxima(const PoolCall& call, void* stream) {
  const index_t steps = call.width / 2 / N, rows = call.height / 2;
  PoolThreads t;
  t.call = call;
  t.steps = oriel::cuda::Divider<std::uint64_t>(steps);
  t.rows = oriel::cuda::Divider<std::uint64_t>(rows);
  t.count = static_cast<std::uint64_t>(call.channels * rows * steps);
  oriel::cuda::launch(&maxima<N>, static_cast<index_t>(t.count), oriel::cuda::kBlock, 0, stream, t);
}

}  // namespace

void pool(const PoolCall& call, void* stream) {
  has_vectors(call.x, call.width) && has_vectors(call.y, call.width, 8) ? launch_maxima<2>(call, stream)
                                                                        : launch_maxima<1>(call, stream);
}

}  // namespace oriel::nn::cuda
