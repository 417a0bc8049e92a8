// The functions that programs compiled by XLA call: the door, behind XLA's foreign function interface. There is nothing
// of Python here.
//
// Buffers are dense and row-major. A pool comes as the attribute `words` (pool_words.h), its axes counted from the end.
// Where a handler takes an input x beside a tangent or gradient, x may have extent 1 along an axis that is not pooled:
// it then stands for all elements there.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include "oriel/pool.h"
#include "pool_words.h"
#include "xla/ffi/api/ffi.h"

namespace oriel::python {
namespace {

namespace ffi = xla::ffi;

using Words = ffi::Span<const std::int64_t>;
using Out = ffi::Result<ffi::AnyBuffer>;

constexpr index_t kScratchElements = index_t{1} << 18;  // 2 MiB of indices: they stay in cache until they are used

Dtype dtype_of(ffi::DataType type) {
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

Extents shape_of(const ffi::AnyBuffer& buffer) {
  Extents shape;
  for (std::int64_t extent : buffer.dimensions()) shape.push_back(extent);
  return shape;
}

ConstTensor input(const ffi::AnyBuffer& buffer) {
  return {buffer.untyped_data(), dtype_of(buffer.element_type()), shape_of(buffer)};
}

Tensor output(Out& buffer) { return {buffer->untyped_data(), dtype_of(buffer->element_type()), shape_of(*buffer)}; }

Pool pool_of(Words words) { return from_words({words.begin(), words.size()}); }

// x as if it had the extents of `like` along its axes of extent 1 that are not pooled.
ConstTensor broadcast(const Pool& pool, ConstTensor x, const Extents& like) {
  if (x.rank() != like.size()) throw Error(std::string(name(pool.op)) + "_pool: x and its gradient differ in rank");
  for (int a = 0; a < x.rank(); ++a) {
    const bool pooled = std::find(pool.axes.begin(), pool.axes.end(), a - x.rank()) != pool.axes.end();
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

ffi::Error forward_pool(ffi::AnyBuffer x, Out y, Words words) {
  return guarded([&] { forward(pool_of(words), input(x), output(y)); });
}

// Integer sums that wrap, as XLA's do; those of the door saturate (S7). Signed and unsigned sums have the same bits.
template <class T>
struct WrappedSum {
  using Input = T;
  using Accumulator = T;
  using Output = T;
  static Accumulator identity() { return 0; }
  static Accumulator lift(Input x) { return x; }
  static Accumulator combine(Accumulator a, Accumulator b) { return static_cast<T>(a + b); }
  static Output lower(Accumulator a, WindowCount) { return a; }
};

template <class T>
void wrapped_sum_as(const Pool& pool, ConstTensor x, Tensor y) {
  x.dtype = y.dtype = dtype_v<T>;
  forward<WrappedSum<T>>(pool, x, y);
}

ffi::Error wrapped_sum(ffi::AnyBuffer x, Out y, Words words) {
  return guarded([&] {
    const Pool pool = pool_of(words);
    switch (x.element_type()) {
      case ffi::S8:
      case ffi::U8:
        return wrapped_sum_as<std::uint8_t>(pool, input(x), output(y));
      case ffi::S16:
      case ffi::U16:
        return wrapped_sum_as<std::uint16_t>(pool, input(x), output(y));
      case ffi::S32:
      case ffi::U32:
        return wrapped_sum_as<std::uint32_t>(pool, input(x), output(y));
      default:
        return forward(pool, input(x), output(y));  // 64-bit sums wrap at the door
    }
  });
}

// Calls work(first, count) for runs of the first axis that have at most about kScratchElements elements of y each, or
// once for all of it where that axis is pooled; before, prepare(elements of the largest run).
template <class Prepare, class Work>
void for_each_run(const Pool& pool, const Tensor& y, Prepare prepare, Work work) {
  const index_t all = element_count(y.shape);
  if (all == 0) return;
  const index_t rows = y.shape[0];
  const bool whole = std::find(pool.axes.begin(), pool.axes.end(), -y.rank()) != pool.axes.end();
  const index_t step = whole ? rows : std::clamp<index_t>(kScratchElements / (all / rows), 1, rows);
  prepare(step * (all / rows));
  for (index_t first = 0; first < rows; first += step) work(first, std::min(step, rows - first));
}

// Elements [first, first + count) along the first axis.
template <class View>
View rows_of(View view, index_t first, index_t count) {
  using Byte = std::conditional_t<std::is_same_v<View, Tensor>, unsigned char, const unsigned char>;
  view.data = static_cast<Byte*>(view.data) + first * view.pitch[0] * size_bytes(view.dtype);
  view.shape[0] = count;
  return view;
}

template <class Word>
void gather(const index_t* places, index_t n, const void* from, void* to) {
  const auto* in = static_cast<const Word*>(from);
  auto* out = static_cast<Word*>(to);
  for (index_t i = 0; i < n; ++i) out[i] = places[i] < 0 ? Word{0} : in[places[i]];
}

void gather(const index_t* places, index_t n, const ConstTensor& from, const Tensor& to) {
  switch (size_bytes(to.dtype)) {
    case 1:
      return gather<std::uint8_t>(places, n, from.data, to.data);
    case 2:
      return gather<std::uint16_t>(places, n, from.data, to.data);
    case 4:
      return gather<std::uint32_t>(places, n, from.data, to.data);
    default:
      return gather<std::uint64_t>(places, n, from.data, to.data);
  }
}

// picked = t at the places of the maxima (minima) of x, 0 for a window without a tap: linear in t, and the transpose of
// `backward`.
void pick_into(const Pool& pool, const ConstTensor& x, const ConstTensor& t, const Tensor& picked) {
  std::unique_ptr<index_t[]> places;
  for_each_run(
      pool, picked, [&](index_t n) { places = std::make_unique_for_overwrite<index_t[]>(static_cast<std::size_t>(n)); },
      [&](index_t first, index_t count) {
        const Tensor to = rows_of(picked, first, count);
        const ConstTensor from = rows_of(t, first, count == picked.shape[0] ? t.shape[0] : count);
        const ConstTensor seen = rows_of(x, first, from.shape[0]);
        // The values go to where the picked elements are written next.
        forward(pool, seen, to, Tensor(places.get(), to.shape), IndexSpace::tensor);
        gather(places.get(), element_count(to.shape), from, to);
      });
}

ffi::Error pick(ffi::AnyBuffer x, ffi::AnyBuffer t, Out picked, Words words) {
  return guarded([&] {
    const Pool pool = pool_of(words);
    const ConstTensor from = input(t);
    pick_into(pool, broadcast(pool, input(x), from.shape), from, output(picked));
  });
}

ffi::Error forward_indices(ffi::AnyBuffer x, Out y, Out indices, Words words, std::int32_t space) {
  return guarded([&] {
    if (space < 0 || space > static_cast<std::int32_t>(IndexSpace::window))
      throw Error("pool: unknown space of indices");
    const auto counted = static_cast<IndexSpace>(space);
    const Pool pool = pool_of(words);
    const ConstTensor from = input(x);
    const Tensor to = output(y);
    const Tensor places = output(indices);
    if (places.dtype == Dtype::i64) return forward(pool, from, to, places, counted);
    // Without 64-bit types in JAX; the caller has seen to it that indices fit.
    std::unique_ptr<index_t[]> wide;
    for_each_run(
        pool, to, [&](index_t n) { wide = std::make_unique_for_overwrite<index_t[]>(static_cast<std::size_t>(n)); },
        [&](index_t first, index_t count) {
          const Tensor run = rows_of(to, first, count);
          const ConstTensor seen = rows_of(from, first, count == to.shape[0] ? from.shape[0] : count);
          forward(pool, seen, run, Tensor(wide.get(), run.shape), counted);
          std::copy_n(wide.get(), element_count(run.shape),
                      static_cast<std::int32_t*>(rows_of(places, first, count).data));
        });
  });
}

ffi::Error backward_linear(ffi::AnyBuffer dy, Out dx, Words words) {
  return guarded([&] { backward(pool_of(words), input(dy), output(dx)); });
}

ffi::Error backward_at(ffi::AnyBuffer x, ffi::AnyBuffer dy, Out dx, Words words) {
  return guarded([&] {
    const Pool pool = pool_of(words);
    const Tensor to = output(dx);
    backward(pool, broadcast(pool, input(x), to.shape), input(dy), to);
  });
}

auto unary() { return ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Attr<Words>("words"); }

auto binary() {
  return ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Attr<Words>("words");
}

auto indexed() {
  return ffi::Ffi::Bind()
      .Arg<ffi::AnyBuffer>()
      .Ret<ffi::AnyBuffer>()
      .Ret<ffi::AnyBuffer>()
      .Attr<Words>("words")
      .Attr<std::int32_t>("space");
}

}  // namespace
}  // namespace oriel::python

// Python finds these by name (python/oriel/jax/primitives.py); declared first because everything else here is hidden.
#define ORIEL_XLA_HANDLER(symbol, function, binding)                                                      \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* symbol(XLA_FFI_CallFrame* call_frame); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(symbol, oriel::python::function, oriel::python::binding())

ORIEL_XLA_HANDLER(oriel_pool, forward_pool, unary);
ORIEL_XLA_HANDLER(oriel_pool_wrapped, wrapped_sum, unary);
ORIEL_XLA_HANDLER(oriel_pool_indices, forward_indices, indexed);
ORIEL_XLA_HANDLER(oriel_pool_pick, pick, binary);
ORIEL_XLA_HANDLER(oriel_pool_backward_linear, backward_linear, unary);
ORIEL_XLA_HANDLER(oriel_pool_backward, backward_at, binary);

// The version of XLA's interface that this was compiled for. XLA looks at it too, but too late to be caught: when its
// backend starts.
extern "C" __attribute__((visibility("default"))) const int oriel_pool_interface[2];
const int oriel_pool_interface[2] = {XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
