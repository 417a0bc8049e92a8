#include "nn/cuda/head.cuh"

#include "cuda/device/launch.cuh"
#include "nn/cuda/tiling.h"

namespace oriel::nn::cuda {
namespace {

template <int kClasses, int N>
void launch_heads(const HeadCall& call, void* stream) {
  const index_t steps = call.width / N, passes = tiles_of(call.classes, kClasses);
  HeadThreads t;
  t.call = call;
  t.steps = oriel::cuda::Divider<std::uint64_t>(steps);
  t.rows = oriel::cuda::Divider<std::uint64_t>(call.height);
  t.count = static_cast<std::uint64_t>(passes * call.height * steps);
  oriel::cuda::launch(&heads<kClasses, N>, static_cast<index_t>(t.count), oriel::cuda::kBlock, 0, stream, t);
}

}  // namespace

void head(const HeadCall& call, void* stream) {
  const bool aligned = has_vectors(call.x, call.width) && has_vectors(call.y, call.width);
  if (call.classes == 1)
    aligned ? launch_heads<1, kVector>(call, stream) : launch_heads<1, 1>(call, stream);
  else
    aligned ? launch_heads<4, kVector>(call, stream) : launch_heads<4, 1>(call, stream);
}

}  // namespace oriel::nn::cuda
