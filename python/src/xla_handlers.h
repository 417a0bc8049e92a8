// The handlers that are the same wherever buffers are, and what the others share.
//
// Where a handler takes an input x beside a tangent or gradient, x may have extent 1 along an axis that is not pooled:
// it then stands for all elements there.
#pragma once

#include <algorithm>
#include <string>

#include "xla_call.h"

namespace oriel::python {

// x as if it had the extents of `like` along its axes of extent 1 that are not pooled.
inline ConstTensor broadcast(const Pool& pool, ConstTensor x, const Extents& like) {
  if (x.rank() != like.size()) throw Error(std::string(name(pool.op)) + "_pool: x and its gradient differ in rank");
  for (int a = 0; a < x.rank(); ++a) {
    const bool pooled =
        std::find(pool.windows.axes.begin(), pool.windows.axes.end(), a - x.rank()) != pool.windows.axes.end();
    if (pooled || x.shape[a] == like[a] || x.shape[a] != 1) continue;
    x.shape[a] = like[a];
    x.pitch[a] = 0;
  }
  return x;
}

/// Whether indices are of 32 bits, as without 64-bit types in JAX; the caller has seen to it that they fit.
inline bool are_narrow(const Tensor& indices) {
  if (indices.dtype == Dtype::i64) return false;
  if (indices.dtype == Dtype::i32) return true;
  throw Error("pool: indices must be i32 or i64, but are " + std::string(name(indices.dtype)));
}

/// y of x.
inline void forward_pool(const Call& call) {
  forward(call.pool(), {.x = call.input(0), .y = call.output(0)}, call.options());
}

/// dx of dy.
inline void backward_linear(const Call& call) {
  backward(call.pool(), {.dy = call.input(0), .dx = call.output(0)}, call.options());
}

/// dx of x and dy.
inline void backward_extremum(const Call& call) {
  const Pool pool = call.pool();
  const Tensor dx = call.output(0);
  backward(pool, {.x = broadcast(pool, call.input(0), dx.shape), .dy = call.input(1), .dx = dx}, call.options());
}

}  // namespace oriel::python
