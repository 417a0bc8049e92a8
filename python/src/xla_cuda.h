// The handlers of xla.cc for buffers on a CUDA device: calls go on the stream that XLA gives, and nothing waits.
#pragma once

#include "xla_handlers.h"
#include "xla_kernels.h"

namespace oriel::python::on_device {

inline Tensor dense(void* data, Dtype dtype, const Extents& shape) {
  return {data, dtype, shape, dense_pitch(shape), Device::cuda};
}

/// Integer sums that wrap, as XLA's do: exact ones of 64 bits, of which the low bits stay.
inline void wrapped_sum(const Call& call) {
  const Pool pool = call.pool();
  const ConstTensor x = call.input(0);
  const Tensor y = call.output(0);
  const index_t bytes = size_bytes(y.dtype), n = element_count(x.shape), made = element_count(y.shape);
  if (bytes == 8) return forward(pool, {.x = x, .y = y}, call.options());  // these wrap in the library
  void* stream = call.stream();
  const DeviceScratch terms(n * 8, stream), sums(made * 8, stream);
  widen_on_device(x.data, x.dtype, n, terms.data<std::int64_t>(), stream);
  forward(pool,
          {.x = dense(terms.data<void>(), Dtype::i64, x.shape), .y = dense(sums.data<void>(), Dtype::i64, y.shape)},
          call.options());
  wrap_on_device(sums.data<std::int64_t>(), made, y.data, bytes, stream);
}

/// picked = t at the places of the extrema of x, 0 for a window without a tap.
inline void pick(const Call& call) {
  const Pool pool = call.pool();
  const ConstTensor t = call.input(1);
  const Tensor picked = call.output(0);
  const index_t n = element_count(picked.shape);
  const DeviceScratch places(n * 8, call.stream());
  // The values go to where the picked elements are written next.
  forward(pool,
          {.x = broadcast(pool, call.input(0), t.shape),
           .y = picked,
           .indices = dense(places.data<void>(), Dtype::i64, picked.shape),
           .space = IndexSpace::tensor},
          call.options());
  pick_on_device(places.data<index_t>(), n, t.data, picked.data, size_bytes(picked.dtype), call.stream());
}

/// y of x, and where its elements are.
inline void forward_indices(const Call& call) {
  const IndexSpace counted = call.space();
  const Pool pool = call.pool();
  const ConstTensor x = call.input(0);
  const Tensor y = call.output(0), indices = call.output(1);
  if (!are_narrow(indices))
    return forward(pool, {.x = x, .y = y, .indices = indices, .space = counted}, call.options());
  const index_t n = element_count(y.shape);
  const DeviceScratch wide(n * 8, call.stream());
  forward(pool, {.x = x, .y = y, .indices = dense(wide.data<void>(), Dtype::i64, y.shape), .space = counted},
          call.options());
  narrow_on_device(wide.data<index_t>(), n, static_cast<std::int32_t*>(indices.data), call.stream());
}

}  // namespace oriel::python::on_device
