// How kernels touch global and shared memory: vectors of up to 16 bytes, reads through the read-only path, stores that
// do not stay in the first cache.
#pragma once

#include <cuda_runtime.h>

#include "oriel/types.h"

namespace oriel::cuda {

/// The widest access of one thread, in bytes.
inline constexpr int kWidest = 16;
/// Elements of T in the widest access.
template <class T>
inline constexpr int kLanes = kWidest / static_cast<int>(sizeof(T));

template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using type = unsigned char;
};
template <>
struct Word<2> {
  using type = unsigned short;
};
template <>
struct Word<4> {
  using type = unsigned;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

/// N neighbouring elements, as one access moves them.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

/// The N elements at p, which is aligned to their size.
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* p) {
  using W = typename Word<static_cast<int>(sizeof(T)) * N>::type;
  const W word = __ldg(reinterpret_cast<const W*>(p));
  return std::bit_cast<Pack<T, N>>(word);
}

template <class T>
__device__ __forceinline__ T load(const T* p) {
  return load_pack<1>(p).at[0];
}

template <int N, class T>
__device__ __forceinline__ void store_pack(T* p, const Pack<T, N>& v) {
  using W = typename Word<static_cast<int>(sizeof(T)) * N>::type;
  __stcs(reinterpret_cast<W*>(p), std::bit_cast<W>(v));
}

template <class T>
__device__ __forceinline__ void store(T* p, T v) {
  store_pack<1>(p, Pack<T, 1>{{v}});
}

/// The block's dynamic shared memory.
extern __shared__ uint4 dynamic_shared[];

/// What lies at a byte of it.
template <class T>
__device__ __forceinline__ T* shared_at(int byte) {
  char* const shared = reinterpret_cast<char*>(dynamic_shared);
  return reinterpret_cast<T*>(shared + byte);
}

/// The thread's number in a one-dimensional grid.
template <class I>
__device__ __forceinline__ I thread_number() {
  return static_cast<I>(blockIdx.x) * static_cast<I>(blockDim.x) + static_cast<I>(threadIdx.x);
}

}  // namespace oriel::cuda
