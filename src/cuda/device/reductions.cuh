// What the kernels with windows of a known size do with two values, and with a window's result.
#pragma once

#include "cuda/device/numbers.cuh"

namespace oriel::cuda {

/// The later value where it wins: greater, or a NaN (S3, S4).
template <class A>
__device__ __forceinline__ bool beats(A later, A best) {
  return later > best || is_nan(later);
}

/// Maxima; minima by the order turned round, which costs an instruction and no second kernel.
template <class T>
struct Extreme {
  using A = computed_t<T>;
  static constexpr bool kRowsFirst = true;  // a row's maximum first: of equals the first in row-major order stays (S4)

  bool turned = false;

  __device__ __forceinline__ A turn(A v) const {
    if constexpr (std::is_same_v<A, float>)
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) ^ (turned ? 0x80000000U : 0U));
    else if constexpr (std::is_same_v<A, double>)
      return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) ^ (turned ? std::uint64_t{1} << 63 : 0));
    else
      return static_cast<A>(v ^ static_cast<A>(turned ? ~A{0} : A{0}));
  }
  __device__ __forceinline__ A lift(T v) const { return turn(value_of(v)); }
  __device__ __forceinline__ A none() const {
    if constexpr (std::is_same_v<T, bool8>)
      return turned ? static_cast<A>(~A{1}) : A{0};
    else
      return lowest_value<A>();
  }
  __device__ __forceinline__ A combine(A a, A b) const { return beats(b, a) ? b : a; }
  __device__ __forceinline__ T lower(A v, index_t) const { return element_of<T>(turn(v)); }
};

/// Sums and averages.
template <class T>
struct Total {
  using A = std::conditional_t<is_floating_v<T>, computed_t<T>,
                               std::conditional_t<sizeof(T) <= 2, std::int32_t, std::int64_t>>;
  static constexpr bool kRowsFirst = false;  // S8: along the first axis first

  bool average = false;

  __device__ __forceinline__ A lift(T v) const { return static_cast<A>(value_of(v)); }
  __device__ __forceinline__ A none() const { return static_cast<A>(-0.0); }
  __device__ __forceinline__ A combine(A a, A b) const {
    if constexpr (std::is_same_v<A, std::int64_t>)
      return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return a + b;
  }
  __device__ __forceinline__ T lower(A v, index_t divisor) const {
    if (!average) {
      if constexpr (is_floating_v<T>)
        return element_of<T>(v);
      else
        return narrow<T>(v);
    }
    if constexpr (is_floating_v<T>) {
      if (divisor == 4) return element_of<T>(v * A(0.25));  // a power of two: the product is the quotient
    }
    return cuda::average<T>(v, divisor);
  }
};

/// The fold of K values in the order of S8: (x0 + x1), then x2.
template <int K, class R, class A>
__device__ __forceinline__ A fold_values(const R& r, const A (&v)[K]) {
  static_assert(K >= 1 && K <= 3, "longer trees are not a chain");
  A a = v[0];
#pragma unroll
  for (int k = 1; k < K; ++k) a = r.combine(a, v[k]);
  return a;
}

}  // namespace oriel::cuda
