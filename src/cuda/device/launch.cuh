// Launches, and what CUDA says of them: every call's return code becomes an Error with CUDA's own text.
#pragma once

#include <cuda_runtime.h>

#include <limits>
#include <string>

#include "oriel/types.h"

namespace oriel::cuda {

inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // a later call must not report this one again
  throw Error(std::string("cuda: ") + call + " failed: " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
              ")");
}

/// Threads of a block where nothing else is said.
inline constexpr int kBlock = 256;

/// Runs `kernel` on a one-dimensional grid of `threads` threads or more.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), index_t threads, int block, std::size_t shared, void* stream,
            const Arguments&... arguments) {
  if (threads <= 0) return;
  const index_t blocks = (threads - 1) / block + 1;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error("cuda: a launch must have at most 2^31 - 1 blocks, but needs " + std::to_string(blocks));
  }
  if (shared > 48 * 1024) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          "cudaFuncSetAttribute");
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(block));
  config.dynamicSmemBytes = shared;
  config.stream = static_cast<cudaStream_t>(stream);
  check(cudaLaunchKernelEx(&config, kernel, arguments...), "the launch of a kernel");
}

/// Device memory of a stream's own, in the stream's order: it can be captured in a CUDA graph.
class Scratch {
 public:
  Scratch(index_t bytes, void* stream) : stream_(static_cast<cudaStream_t>(stream)) {
    if (bytes > 0) check(cudaMallocAsync(&data_, static_cast<std::size_t>(bytes), stream_), "cudaMallocAsync");
  }
  ~Scratch() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);  // an error would come again with the next call
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_;
};

}  // namespace oriel::cuda
