// The handlers of xla.cc for buffers on a CUDA device: calls go on the stream that XLA gives, and nothing waits.
#pragma once

#include "xla_buffers.h"
#include "xla_kernels.h"

namespace oriel::python::on_device {

inline Place place(void* stream) { return {Device::cuda, stream}; }

inline Tensor dense(void* data, Dtype dtype, const Extents& shape) {
  return {data, dtype, shape, dense_pitch(shape), Device::cuda};
}

inline ffi::Error forward(void* stream, ffi::AnyBuffer x, Out y, Words words) {
  return forward_pool(place(stream), x, y, words);
}

inline ffi::Error backward_linear(void* stream, ffi::AnyBuffer dy, Out dx, Words words) {
  return python::backward_linear(place(stream), dy, dx, words);
}

inline ffi::Error backward(void* stream, ffi::AnyBuffer x, ffi::AnyBuffer dy, Out dx, Words words) {
  return backward_at(place(stream), x, dy, dx, words);
}

/// Integer sums that wrap, as XLA's do: exact ones of 64 bits, of which the low bits stay.
inline ffi::Error wrapped_sum(void* stream, ffi::AnyBuffer x, Out y, Words words) {
  return guarded([&] {
    const Place at = place(stream);
    const Pool pool = pool_of(words);
    const ConstTensor from = input(x, at.device);
    const Tensor to = output(y, at.device);
    const index_t bytes = size_bytes(to.dtype), n = element_count(from.shape), made = element_count(to.shape);
    if (bytes == 8) return oriel::forward(pool, {.x = from, .y = to}, at.options());  // these wrap in the library
    const DeviceScratch terms(n * 8, stream), sums(made * 8, stream);
    widen_on_device(from.data, from.dtype, n, terms.data<std::int64_t>(), stream);
    oriel::forward(
        pool,
        {.x = dense(terms.data<void>(), Dtype::i64, from.shape), .y = dense(sums.data<void>(), Dtype::i64, to.shape)},
        at.options());
    wrap_on_device(sums.data<std::int64_t>(), made, to.data, bytes, stream);
  });
}

/// picked = t at the places of the extrema of x, 0 for a window without a tap.
inline ffi::Error pick(void* stream, ffi::AnyBuffer x, ffi::AnyBuffer t, Out picked, Words words) {
  return guarded([&] {
    const Place at = place(stream);
    const Pool pool = pool_of(words);
    const ConstTensor from = input(t, at.device);
    const Tensor to = output(picked, at.device);
    const index_t n = element_count(to.shape);
    const DeviceScratch places(n * 8, stream);
    // The values go to where the picked elements are written next.
    oriel::forward(pool,
                   {.x = broadcast(pool, input(x, at.device), from.shape),
                    .y = to,
                    .indices = dense(places.data<void>(), Dtype::i64, to.shape),
                    .space = IndexSpace::tensor},
                   at.options());
    pick_on_device(places.data<index_t>(), n, from.data, to.data, size_bytes(to.dtype), stream);
  });
}

inline ffi::Error forward_indices(void* stream, ffi::AnyBuffer x, Out y, Out indices, Words words, std::int32_t space) {
  return guarded([&] {
    const Place at = place(stream);
    const IndexSpace counted = space_of(space);
    const Pool pool = pool_of(words);
    const ConstTensor from = input(x, at.device);
    const Tensor to = output(y, at.device), places = output(indices, at.device);
    if (places.dtype == Dtype::i64)
      return oriel::forward(pool, {.x = from, .y = to, .indices = places, .space = counted}, at.options());
    // Without 64-bit types in JAX; the caller has seen to it that indices fit.
    const index_t n = element_count(to.shape);
    const DeviceScratch wide(n * 8, stream);
    oriel::forward(pool,
                   {.x = from, .y = to, .indices = dense(wide.data<void>(), Dtype::i64, to.shape), .space = counted},
                   at.options());
    narrow_on_device(wide.data<index_t>(), n, static_cast<std::int32_t*>(places.data), stream);
  });
}

}  // namespace oriel::python::on_device
