// Rows that begin anywhere: neighbouring lanes read and store aligned accesses, and shift what they hold between them.
// All lanes of a warp call.
#pragma once

#include "cuda/device/memory.cuh"
#include "cuda/neighbours.cuh"

namespace oriel::cuda {

/// 32-bit words of an access.
template <int kWords>
struct Words {
  std::uint32_t at[kWords];
};
template <class T, int N>
using access_t = typename Word<N* static_cast<int>(sizeof(T))>::type;
template <class T, int N>
inline constexpr int kWordsOf = N* static_cast<int>(sizeof(T)) / 4;

template <class T>
using bits_t = typename Word<static_cast<int>(sizeof(T))>::type;
/// Elements of a word.
template <class T>
inline constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));

/// Element i of words, by shifts: arrays of narrower elements would go to local memory.
template <class T, int kWords>
__device__ __forceinline__ T element_at(const Words<kWords>& words, int i) {
  return std::bit_cast<T>(static_cast<bits_t<T>>(words.at[i / kPerWord<T>] >> i % kPerWord<T> * (32 / kPerWord<T>)));
}
/// Where words hold a 0.
template <class T, int kWords>
__device__ __forceinline__ void put_element(Words<kWords>& words, int i, T v) {
  words.at[i / kPerWord<T>] |= std::uint32_t{std::bit_cast<bits_t<T>>(v)} << i % kPerWord<T> * (32 / kPerWord<T>);
}

__device__ __forceinline__ Words<2> words_of(uint2 w) { return {{w.x, w.y}}; }
__device__ __forceinline__ Words<4> words_of(uint4 w) { return {{w.x, w.y, w.z, w.w}}; }
__device__ __forceinline__ uint2 access_of(const Words<2>& w) { return {w.at[0], w.at[1]}; }
__device__ __forceinline__ uint4 access_of(const Words<4>& w) { return {w.at[0], w.at[1], w.at[2], w.at[3]}; }

template <int N, class T, int kWords>
__device__ __forceinline__ Pack<T, N> pack_of(const Words<kWords>& words) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.at[i] = element_at<T>(words, i);
  return pack;
}
template <class T, int N>
__device__ __forceinline__ Words<kWordsOf<T, N>> words_of(const Pack<T, N>& pack) {
  Words<kWordsOf<T, N>> words{};
#pragma unroll
  for (int i = 0; i < N; ++i) put_element(words, i, pack.at[i]);
  return words;
}

/// Where `moves`, each word becomes that kStep further on.
template <int kStep, int kWords>
__device__ __forceinline__ void move_words(std::uint32_t (&word)[kWords], bool moves) {
#pragma unroll
  for (int i = 0; i < kWords - kStep; ++i) word[i] = moves ? word[i + kStep] : word[i];
}

/// The access that begins `bytes` after `first`, of which `second` is the rest.
template <int kElement, int kWords>
__device__ __forceinline__ Words<kWords> shifted(const Words<kWords>& first, const Words<kWords>& second, int bytes) {
  static_assert(kWords == 2 || kWords == 4);
  std::uint32_t word[2 * kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    word[i] = first.at[i];
    word[kWords + i] = second.at[i];
  }
  if constexpr (kWords == 4) move_words<2>(word, (bytes & 8) != 0);
  move_words<1>(word, (bytes & 4) != 0);
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
    if (at >= begin && at + N <= end) return words_of(__ldg(reinterpret_cast<const access_t<T, N>*>(at)));
    Words<kWordsOf<T, N>> words{};
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (at + i >= begin && at + i < end) put_element(words, i, load(at + i));
    }
    return words;
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
  return pack_of<N, T>(shifted<static_cast<int>(sizeof(T))>(first, second, beyond * static_cast<int>(sizeof(T))));
}

/// Stores the first `count` of N elements at `at`. `before`, `after`: the lane before and the next one store elements
/// on either side too: a lane stores one aligned access, with the last elements of the lane before, and leaves its own
/// last ones to the next lane.
template <int N, class T>
__device__ __forceinline__ void store_anywhere(T* at, const Pack<T, N>& own, int count, bool before, bool after) {
  using W = Words<kWordsOf<T, N>>;
  const int beyond = beyond_access<N>(at), kept = N - beyond;  // own elements of the access
  const W mine = words_of(own), theirs = from_lane_before(mine);
  if (count <= 0) return;
  if ((before || beyond == 0) && count >= kept) {
    W first;
#pragma unroll
    for (int i = 0; i < kWordsOf<T, N>; ++i) first.at[i] = beyond == 0 ? mine.at[i] : theirs.at[i];
    const W whole = shifted<static_cast<int>(sizeof(T))>(first, mine, kept % N * static_cast<int>(sizeof(T)));
    __stcs(reinterpret_cast<access_t<T, N>*>(at - beyond), access_of(whole));
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (before && i >= kept) store(at + i - N, element_at<T>(theirs, i));
      if (i < kept && i < count) store(at + i, element_at<T>(mine, i));
    }
  }
  if (after || count <= kept) return;
#pragma unroll
  for (int i = 1; i < N; ++i) {
    if (i >= kept && i < count) store(at + i, element_at<T>(mine, i));
  }
}

}  // namespace oriel::cuda
