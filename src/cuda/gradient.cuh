// Kernels "shares" and "collect": gradients in which each input collects what the outputs that read it send (S9). No
// atomics, no clearing: one thread writes one element, once.
#pragma once

#include "cuda/gather.cuh"

namespace oriel::cuda {

/// dy / divisor in the accumulator type.
template <class A>
__device__ __forceinline__ A share_of(A dy, index_t divisor) {
  return divisor <= 0 ? A{0} : divide(dy, divisor);
}

/// What each tap of an output gets where that depends on x: of Lp norms, and of averages that leave out NaN.
template <class T, class I>
__global__ void __launch_bounds__(256)
    make_shares(const __grid_constant__ Walk<I> walk, const __grid_constant__ Windows windows, const T* x, const T* dy,
                accumulator_t<T>* share, const __grid_constant__ SumRule rule) {
  using A = accumulator_t<T>;
  const I number = thread_number<I>();
  if (number >= walk.count) return;
  const Place place = place_of(walk, number);
  const A g = value_of(load(dy + place.offset[kMade]));
  const Sum<A> sum = sum_window<A>(windows, place, x + place.offset[kSeen], rule);
  A result = g;
  if (rule.lower == Lower::average) {
    result = share_of(g, sum.divisor);
  } else if (rule.lower == Lower::root && rule.norm != 1) {
    const A y = sum.taps > 0 ? root<A>(sum.value, rule.norm) : A{0};
    if (y == 0)
      result = A{0};
    else if (rule.norm == 2)
      result = g / y;
    else
      result = static_cast<A>(static_cast<double>(g) / norm_power(static_cast<double>(y), rule.norm - 1));
  }
  store(share + place.offset[kOther], result);
}

/// How an output's share is found, and what becomes of an input's sum.
struct ShareRule {
  bool average = false;  // shares are dy / divisor, else what is read
  bool count_include_pad = true;
  index_t divisor = 0;
  bool lp = false;    // the sum is multiplied by sign(x) |x|^(p-1)
  bool omit = false;  // a NaN input has gradient 0
  double norm = 2;
  Axis axis[kMaxPooledAxes];  // of the pool, for divisors
};

template <class A>
__device__ __forceinline__ A finished(A sum, A x, const ShareRule& rule) {
  if (rule.omit && is_nan(x)) return A{0};
  if (!rule.lp) return sum;
  const A magnitude = std::fabs(x);
  const A slope = rule.norm == 1   ? A{1}
                  : rule.norm == 2 ? magnitude
                                   : static_cast<A>(norm_power(static_cast<double>(magnitude), rule.norm - 1));
  return sum * (x > A{0} ? slope : x < A{0} ? -slope : x == A{0} ? A{0} : x);
}

/// dx of a sum: the fold of shares over the adjoint windows. S: the type of shares, T (dy itself) or the accumulator's.
/// `x` may be null unless the rule asks for it.
template <class T, class S, class I>
__global__ void __launch_bounds__(256)
    collect_shares(const __grid_constant__ Walk<I> walk, const __grid_constant__ Windows windows, const S* share, T* dx,
                   const T* x, const __grid_constant__ ShareRule rule) {
  using A = std::conditional_t<is_floating_v<T>, accumulator_t<T>, std::int64_t>;
  const I number = thread_number<I>();
  if (number >= walk.count) return;
  const Place place = place_of(walk, number);
  const S* base = share + place.offset[kSeen];
  A sum = fold_sum<A>(windows, window_of(windows, place.along), [&](const index_t* output) {
    index_t offset = 0;
    for (int a = 0; a < windows.pooled; ++a) offset += output[a] * windows.pitch[a];
    const A g = static_cast<A>(value_of(load(base + offset)));
    if constexpr (is_floating_v<T>) {
      if (rule.average) {
        return share_of(g, divisor_at(rule.axis, windows.pooled, output, rule.count_include_pad, rule.divisor));
      }
    }
    return g;
  });
  sum = add(sum, A{0});  // a zero is +0
  if constexpr (is_floating_v<T>) {
    if (rule.lp || rule.omit)
      sum = finished(sum, static_cast<A>(value_of(load(x + place.offset[kOther]))), rule) + A{0};
    store(dx + place.offset[kMade], element_of<T>(sum));
  } else {
    store(dx + place.offset[kMade], narrow<T>(sum));
  }
}

/// dx of an extremum whose places are known: an input adds what the outputs whose index names it send, in ascending
/// order. `x` gives the sign of a largest magnitude, else it is null. Windows are the pool's own.
struct OutputOrder {
  index_t index_pitch[kMaxPooledAxes] = {};  // by pooled axis
  signed char axis[kMaxPooledAxes] = {};     // pooled axes in the tensor's order: outputs ascend in row-major order
};

template <class T, class I>
__global__ void __launch_bounds__(256)
    collect_chosen(const __grid_constant__ Walk<I> walk, const __grid_constant__ Walk<I> index_walk,
                   const __grid_constant__ Windows windows, const __grid_constant__ OutputOrder order, const T* dy,
                   const __grid_constant__ Indices indices, T* dx, const T* x) {
  using A = std::conditional_t<is_floating_v<T>, accumulator_t<T>, std::int64_t>;
  const I number = thread_number<I>();
  if (number >= walk.count) return;
  const Place place = place_of(walk, number);
  const index_t index_base = place_of(index_walk, number).offset[kSeen];
  const bool by_tap = indices.kind != IndexKind::plane && indices.kind != IndexKind::tensor;
  Range range[kMaxPooledAxes];
  index_t output[kMaxPooledAxes], mine = indices.kind == IndexKind::tensor ? place.offset[kNumber] : 0;
  bool empty = false;
  const int last = windows.pooled - 1;
  for (int a = 0; a <= last; ++a) {
    range[a] = windows.axis[a].feeds(place.along[a]);
    output[a] = range[a].begin;
    empty = empty || range[a].empty();
    mine += place.along[a] * indices.step[a];
  }
  A sum{0};
  while (!empty) {
    index_t code = 0, at = place.offset[kSeen], index_at = index_base;
    bool reads = true;
    for (int a = 0; a <= last; ++a) {
      const index_t tap = windows.axis[a].tap_of(output[a], place.along[a]);
      reads = reads && tap >= 0;
      code = code * windows.axis[a].kernel + tap;
      at += output[a] * windows.pitch[a];
      index_at += output[a] * order.index_pitch[a];
    }
    if (reads && load_index(indices, index_at) == (by_tap ? code : mine)) {
      sum = add(sum, static_cast<A>(value_of(load(dy + at))));
    }
    int i = last;
    for (; i >= 0; --i) {
      const int a = order.axis[i];
      if (++output[a] < range[a].end) break;
      output[a] = range[a].begin;
    }
    if (i < 0) break;
  }
  if constexpr (is_floating_v<T>) {
    if (x != nullptr) {
      const A v = value_of(load(x + place.offset[kOther]));
      sum = v > 0 ? sum : v < 0 ? A{0} - sum : A{0};
    }
    store(dx + place.offset[kMade], element_of<T>(sum));
  } else {
    store(dx + place.offset[kMade], narrow<T>(sum));
  }
}

}  // namespace oriel::cuda
