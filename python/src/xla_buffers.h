// What handlers of XLA's foreign function interface share, wherever their buffers are: XLA's words as the library's.
//
// Buffers are dense and row-major. A pool comes as the attribute `words` (pool_words.h), its axes counted from the end.
// Where a handler takes an input x beside a tangent or gradient, x may have extent 1 along an axis that is not pooled:
// it then stands for all elements there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "oriel/pool.h"
#include "pool_words.h"
#include "xla/ffi/api/ffi.h"

namespace oriel::python {

namespace ffi = xla::ffi;

using Words = ffi::Span<const std::int64_t>;
using Out = ffi::Result<ffi::AnyBuffer>;

/// Where buffers are, and the stream that calls are put on.
struct Place {
  Device device = Device::cpu;
  void* stream = nullptr;

  Options options() const { return {.stream = stream}; }
};

inline Dtype dtype_of(ffi::DataType type) {
  switch (type) {
    case ffi::F64:
      return Dtype::f64;
    case ffi::F32:
      return Dtype::f32;
    case ffi::F16:
      return Dtype::f16;
    case ffi::BF16:
      return Dtype::bf16;
    case ffi::S8:
      return Dtype::i8;
    case ffi::U8:
      return Dtype::u8;
    case ffi::S16:
      return Dtype::i16;
    case ffi::U16:
      return Dtype::u16;
    case ffi::S32:
      return Dtype::i32;
    case ffi::U32:
      return Dtype::u32;
    case ffi::S64:
      return Dtype::i64;
    case ffi::U64:
      return Dtype::u64;
    case ffi::PRED:
      return Dtype::boolean;
    default:
      throw Error("pool: arrays of this element type cannot be pooled");
  }
}

inline Extents shape_of(const ffi::AnyBuffer& buffer) {
  Extents shape;
  for (std::int64_t extent : buffer.dimensions()) shape.push_back(extent);
  return shape;
}

inline ConstTensor input(const ffi::AnyBuffer& buffer, Device device) {
  const Extents shape = shape_of(buffer);
  return {buffer.untyped_data(), dtype_of(buffer.element_type()), shape, dense_pitch(shape), device};
}

inline Tensor output(Out& buffer, Device device) {
  const Extents shape = shape_of(*buffer);
  return {buffer->untyped_data(), dtype_of(buffer->element_type()), shape, dense_pitch(shape), device};
}

inline Pool pool_of(Words words) { return from_words({words.begin(), words.size()}); }

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

// Runs `call`; what it throws becomes XLA's error.
template <class Call>
ffi::Error guarded(Call call) {
  try {
    call();
    return ffi::Error::Success();
  } catch (const Error& e) {
    return ffi::Error::InvalidArgument(e.what());
  } catch (const std::bad_alloc&) {
    return {ffi::ErrorCode::kResourceExhausted, "pool: out of memory"};
  } catch (const std::exception& e) {
    return ffi::Error::Internal(e.what());
  }
}

inline ffi::Error forward_pool(Place at, ffi::AnyBuffer x, Out y, Words words) {
  return guarded([&] { forward(pool_of(words), {.x = input(x, at.device), .y = output(y, at.device)}, at.options()); });
}

inline ffi::Error backward_linear(Place at, ffi::AnyBuffer dy, Out dx, Words words) {
  return guarded(
      [&] { backward(pool_of(words), {.dy = input(dy, at.device), .dx = output(dx, at.device)}, at.options()); });
}

inline ffi::Error backward_at(Place at, ffi::AnyBuffer x, ffi::AnyBuffer dy, Out dx, Words words) {
  return guarded([&] {
    const Pool pool = pool_of(words);
    const Tensor to = output(dx, at.device);
    backward(pool, {.x = broadcast(pool, input(x, at.device), to.shape), .dy = input(dy, at.device), .dx = to},
             at.options());
  });
}

inline IndexSpace space_of(std::int32_t number) {
  if (number < 0 || number > static_cast<std::int32_t>(IndexSpace::window)) {
    throw Error("pool: unknown space of indices");
  }
  return static_cast<IndexSpace>(number);
}

/// What handlers of a kind take; `begin` binds the context.
template <class Begin>
auto unary(Begin begin) {
  return std::move(begin).template Arg<ffi::AnyBuffer>().template Ret<ffi::AnyBuffer>().template Attr<Words>("words");
}

template <class Begin>
auto binary(Begin begin) {
  return std::move(begin)
      .template Arg<ffi::AnyBuffer>()
      .template Arg<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>()
      .template Attr<Words>("words");
}

template <class Begin>
auto indexed(Begin begin) {
  return std::move(begin)
      .template Arg<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>()
      .template Attr<Words>("words")
      .template Attr<std::int32_t>("space");
}

}  // namespace oriel::python

// Python finds handlers by name (python/oriel/jax/primitives.py); declared first because everything else is hidden.
#define ORIEL_XLA_HANDLER(symbol, function, binding)                                                      \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* symbol(XLA_FFI_CallFrame* call_frame); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(symbol, function, binding)
