// Runs emitted CUDA texts: by nvcc on a GPU, else by the stand-in on the CPU. The emitted file includes this first.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

namespace oriel::tile::test {

/// How a kernel is launched: with its own number of threads, or by the stand-in with few of them in either order.
struct CudaOrder {
  unsigned threads = 0;  // 0: the text's own
  bool descending = false;
};

/// One emitted kernel.
struct CudaEntry {
  const char* name;
  void (*run)(void* const* memory, void* scratch, const CudaOrder& order);  // parameters, then results
  std::size_t scratch_bytes;
};
extern const CudaEntry cuda_entries[];
extern const int cuda_entry_count;

// Memory of the device.
bool cuda_device_exists();
void* cuda_allocate(std::size_t bytes);
void cuda_release(void* memory);
void cuda_copy_to(void* device, const void* host, std::size_t bytes);
void cuda_copy_from(void* host, const void* device, std::size_t bytes);
/// Waits for the kernels; what went wrong with them, or "".
const char* cuda_finish();

/// A pointer of any type.
struct CudaMemory {
  void* data;
  template <class T>
  operator T*() const {
    return static_cast<T*>(data);
  }
};

#ifdef __CUDACC__
#define ORIEL_TILE_LAUNCH(kernel, blocks, count, order, ...) \
  kernel<<<blocks, (order).threads == 0 ? (count) : (order).threads>>>(__VA_ARGS__)
#else
#define ORIEL_TILE_LAUNCH(kernel, blocks, count, order, ...)                                          \
  cuda_stand_in::launch(blocks, (order).threads == 0 ? (count) : (order).threads, (order).descending, \
                        [&] { kernel(__VA_ARGS__); })
#endif

}  // namespace oriel::tile::test

#ifdef ORIEL_TILE_CUDA_MEMORY  // defined by one of the files
namespace oriel::tile::test {
#ifdef __CUDACC__
bool cuda_device_exists() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}
void* cuda_allocate(std::size_t bytes) {
  void* memory = nullptr;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;
}
void cuda_release(void* memory) { cudaFree(memory); }
void cuda_copy_to(void* device, const void* host, std::size_t bytes) {
  cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
}
void cuda_copy_from(void* host, const void* device, std::size_t bytes) {
  cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
}
const char* cuda_finish() {
  const cudaError_t error = cudaDeviceSynchronize();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}
#else
bool cuda_device_exists() { return true; }
void* cuda_allocate(std::size_t bytes) { return std::malloc(bytes); }
void cuda_release(void* memory) { std::free(memory); }
void cuda_copy_to(void* device, const void* host, std::size_t bytes) { std::memcpy(device, host, bytes); }
void cuda_copy_from(void* host, const void* device, std::size_t bytes) { std::memcpy(host, device, bytes); }
const char* cuda_finish() { return ""; }
#endif
}  // namespace oriel::tile::test
#endif
