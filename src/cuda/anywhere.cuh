// Rows that begin anywhere: neighbouring lanes read and store aligned accesses, and shift what they hold between them.
// All lanes of a warp call.
#pragma once

#include "cuda/memory.cuh"
#include "cuda/neighbours.cuh"

namespace oriel::cuda {

/// 32-bit words of an access.
template <int kWords>
struct Words {
  std::uint32_t at[kWords];
};
template <class T, int N>
inline constexpr int kWordsOf = N* static_cast<int>(sizeof(T)) / 4;

/// The access that begins `bytes` after `first`, of which `second` is the rest.
template <int kElement, int kWords>
__device__ __forceinline__ Words<kWords> shifted(const Words<kWords>& first, const Words<kWords>& second, int bytes) {
  std::uint32_t word[2 * kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    word[i] = first.at[i];
    word[kWords + i] = second.at[i];
  }
#pragma unroll
  for (int step = kWords / 2; step > 0; step /= 2) {
#pragma unroll
    for (int i = 0; i + step < 2 * kWords; ++i) word[i] = (bytes & 4 * step) != 0 ? word[i + step] : word[i];
  }
  Words<kWords> result;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const std::uint64_t pair = std::uint64_t{word[i + 1]} << 32 | word[i];
    result.at[i] = kElement < 4 ? static_cast<std::uint32_t>(pair >> 8 * (bytes & 3)) : word[i];
  }
  return result;
}

template <int kWords>
__device__ __forceinline__ Words<kWords> from_lane_before(const Words<kWords>& own) {
  Words<kWords> result;
#pragma unroll
  for (int i = 0; i < kWords; ++i) result.at[i] = from_lane_before(own.at[i]);
  return result;
}
template <int kWords>
__device__ __forceinline__ Words<kWords> from_lane_after(const Words<kWords>& own) {
  Words<kWords> result;
#pragma unroll
  for (int i = 0; i < kWords; ++i) result.at[i] = from_lane_after(own.at[i]);
  return result;
}

/// How far p is beyond an access of N elements, in elements.
template <int N, class T>
__device__ __forceinline__ int beyond_access(const T* p) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) / sizeof(T) % N);
}

/// What a row's memory may be read from: the row, or the whole tensor where nothing lies between its rows.
template <class T>
struct Readable {
  const T *begin, *end;

  /// The access at `at`, which is aligned: what may not be read is 0.
  template <int N>
  __device__ __forceinline__ Words<kWordsOf<T, N>> access(const T* at) const {
    Pack<T, N> pack{};
    if (at >= begin && at + N <= end) {
      pack = load_pack<N>(at);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (at + i >= begin && at + i < end) pack.at[i] = load(at + i);
      }
    }
    return std::bit_cast<Words<kWordsOf<T, N>>>(pack);
  }
};

/// Around a row of `width` elements of a tensor of `run` elements at x; `run` 0: something lies between its rows.
template <class T>
__device__ __forceinline__ Readable<T> readable(index_t run, const T* x, const T* row, int width) {
  return run > 0 ? Readable<T>{x, x + run} : Readable<T>{row, row + width};
}

/// The N elements at `at`, the first `count` of which are in the row; the others are anything. `after`: the next lane
/// reads the N elements behind them.
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_anywhere(const Readable<T>& from, const T* at, int count, bool after) {
  const int beyond = beyond_access<N>(at);
  Words<kWordsOf<T, N>> first{}, second;
  if (count + beyond > 0) first = from.template access<N>(at - beyond);
  second = from_lane_after(first);
  if (!after && count + beyond > N) second = from.template access<N>(at - beyond + N);
  return std::bit_cast<Pack<T, N>>(
      shifted<static_cast<int>(sizeof(T))>(first, second, beyond * static_cast<int>(sizeof(T))));
}

/// Stores the first `count` of N elements at `at`. `before`, `after`: the lane before and the next one store elements
/// on either side too: a lane stores one aligned access, with the last elements of the lane before, and leaves its own
/// last ones to the next lane.
template <int N, class T>
__device__ __forceinline__ void store_anywhere(T* at, const Pack<T, N>& own, int count, bool before, bool after) {
  using W = Words<kWordsOf<T, N>>;
  const int beyond = beyond_access<N>(at), kept = N - beyond;  // own elements of the access
  const W mine = std::bit_cast<W>(own), theirs = from_lane_before(mine);
  if (count <= 0) return;
  if ((before || beyond == 0) && count >= kept) {
    const W whole =
        shifted<static_cast<int>(sizeof(T))>(beyond == 0 ? mine : theirs, mine, kept % N * static_cast<int>(sizeof(T)));
    store_pack<N>(at - beyond, std::bit_cast<Pack<T, N>>(whole));
  } else {
    const auto handed = std::bit_cast<Pack<T, N>>(theirs);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (before && i >= kept) store(at + i - N, handed.at[i]);
      if (i < kept && i < count) store(at + i, own.at[i]);
    }
  }
  if (after || count <= kept) return;
#pragma unroll
  for (int i = 1; i < N; ++i) {
    if (i >= kept && i < count) store(at + i, own.at[i]);
  }
}

}  // namespace oriel::cuda
