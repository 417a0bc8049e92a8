// The part of CUDA's language and runtime that Oriel's kernels use, for a host compiler: kernels then run in the grid
// emulator (grid.h). Found in place of CUDA's own header by the include path.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

// Set by the emulator for the thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace grid {
void read(const void* at, void* value, std::size_t bytes);
void write(void* at, const void* value, std::size_t bytes);
void* begin_atomic(void* at, std::size_t bytes);  // null for a place that may not be accessed
void barrier(int line);
std::uint64_t exchange(unsigned mask, std::uint64_t value, int from, int line);  // the value of lane `from`
unsigned vote(unsigned mask, bool value, int line);
int lane();
}  // namespace grid

// ---- device functions ----------------------------------------------------------------------------------------------

template <class T>
T __ldg(const T* p) {
  T value;
  grid::read(p, &value, sizeof(T));
  return value;
}
template <class T>
void __stcs(T* p, T value) {
  grid::write(p, &value, sizeof(T));
}
template <class T>
void __stcg(T* p, T value) {
  grid::write(p, &value, sizeof(T));
}

inline void __syncthreads(int line = __builtin_LINE()) { grid::barrier(line); }
inline unsigned __ballot_sync(unsigned mask, bool value, int line = __builtin_LINE()) {
  return grid::vote(mask, value, line);
}
inline bool __any_sync(unsigned mask, bool value, int line = __builtin_LINE()) {
  return grid::vote(mask, value, line) != 0;
}
inline bool __all_sync(unsigned mask, bool value, int line = __builtin_LINE()) {
  return grid::vote(mask, !value, line) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffU, int line = __builtin_LINE()) { grid::vote(mask, false, line); }

namespace grid {
template <class T>
T shuffle(unsigned mask, T value, int from, int line) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles 4 and 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, from >= 0 && from < 32 ? from : lane(), line);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
}  // namespace grid

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int = 32, int line = __builtin_LINE()) {
  return grid::shuffle(mask, value, from & 31, line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int = 32, int line = __builtin_LINE()) {
  return grid::shuffle(mask, value, grid::lane() - static_cast<int>(delta), line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int = 32, int line = __builtin_LINE()) {
  return grid::shuffle(mask, value, grid::lane() + static_cast<int>(delta), line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int = 32, int line = __builtin_LINE()) {
  return grid::shuffle(mask, value, grid::lane() ^ bits, line);
}

template <class T>
T atomicAdd(T* p, T value) {
  T* at = static_cast<T*>(grid::begin_atomic(p, sizeof(T)));
  if (at == nullptr) return T{};
  const T old = *at;
  *at = static_cast<T>(old + value);
  return old;
}
template <class T>
T atomicMax(T* p, T value) {
  T* at = static_cast<T*>(grid::begin_atomic(p, sizeof(T)));
  if (at == nullptr) return T{};
  const T old = *at;
  if (value > old) *at = value;
  return old;
}
template <class T>
T atomicCAS(T* p, T expected, T value) {
  T* at = static_cast<T*>(grid::begin_atomic(p, sizeof(T)));
  if (at == nullptr) return T{};
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}

using std::max;
using std::min;

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ typedef unsigned __int128 wide;
  return static_cast<unsigned long long>((static_cast<wide>(a) * b) >> 64);
}
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline int __float2int_rn(float a) { return static_cast<int>(std::rint(a)); }

// ---- runtime -------------------------------------------------------------------------------------------------------

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchFailure = 719
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

using cudaStream_t = struct CUstream_st*;
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaMalloc(void** p, std::size_t bytes);
cudaError_t cudaFree(void* p);
cudaError_t cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();
inline constexpr unsigned cudaStreamNonBlocking = 1;
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

using cudaEvent_t = struct CUevent_st*;
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);

struct cudaDeviceProp {
  char name[256];
  int multiProcessorCount;
};
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
namespace grid {
cudaError_t allow_shared(const void* kernel, std::size_t bytes);
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute, int bytes) {
  return grid::allow_shared(reinterpret_cast<const void*>(kernel), static_cast<std::size_t>(bytes));
}

struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
namespace grid {
using Body = void (*)(const void* arguments);
cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, Body body, const void* arguments);
}  // namespace grid

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  using Call = std::pair<void (*)(Parameters...), std::tuple<Parameters...>>;
  const Call call(kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...));
  return grid::launch(
      *config, reinterpret_cast<const void*>(kernel),
      [](const void* p) {
        const Call& c = *static_cast<const Call*>(p);
        std::apply(c.first, c.second);
      },
      &call);
}
