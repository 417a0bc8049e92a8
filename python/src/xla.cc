// The functions that programs compiled by XLA call on the CPU: those of the library, behind XLA's foreign function
// interface. There is nothing of Python here.
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "xla_buffers.h"

namespace oriel::python {
namespace {

constexpr index_t kScratchElements = index_t{1} << 18;  // 2 MiB of indices: they stay in cache until they are used
constexpr Place kHere;

// Integer sums that wrap, as XLA's do; those of the library saturate (S7). Signed and unsigned sums have the same bits.
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
  forward<WrappedSum<T>>(pool.windows, {.x = x, .y = y});
}

ffi::Error wrapped_sum(ffi::AnyBuffer x, Out y, Words words) {
  return guarded([&] {
    const Pool pool = pool_of(words);
    switch (x.element_type()) {
      case ffi::S8:
      case ffi::U8:
        return wrapped_sum_as<std::uint8_t>(pool, input(x, kHere.device), output(y, kHere.device));
      case ffi::S16:
      case ffi::U16:
        return wrapped_sum_as<std::uint16_t>(pool, input(x, kHere.device), output(y, kHere.device));
      case ffi::S32:
      case ffi::U32:
        return wrapped_sum_as<std::uint32_t>(pool, input(x, kHere.device), output(y, kHere.device));
      default:
        return forward(pool,
                       {.x = input(x, kHere.device), .y = output(y, kHere.device)});  // 64-bit sums wrap in the library
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
  const bool whole =
      std::find(pool.windows.axes.begin(), pool.windows.axes.end(), -y.rank()) != pool.windows.axes.end();
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
        forward(pool, {.x = seen, .y = to, .indices = Tensor(places.get(), to.shape), .space = IndexSpace::tensor});
        gather(places.get(), element_count(to.shape), from, to);
      });
}

ffi::Error pick(ffi::AnyBuffer x, ffi::AnyBuffer t, Out picked, Words words) {
  return guarded([&] {
    const Pool pool = pool_of(words);
    const ConstTensor from = input(t, kHere.device);
    pick_into(pool, broadcast(pool, input(x, kHere.device), from.shape), from, output(picked, kHere.device));
  });
}

ffi::Error forward_indices(ffi::AnyBuffer x, Out y, Out indices, Words words, std::int32_t space) {
  return guarded([&] {
    const IndexSpace counted = space_of(space);
    const Pool pool = pool_of(words);
    const ConstTensor from = input(x, kHere.device);
    const Tensor to = output(y, kHere.device);
    const Tensor places = output(indices, kHere.device);
    if (places.dtype == Dtype::i64) return forward(pool, {.x = from, .y = to, .indices = places, .space = counted});
    // Without 64-bit types in JAX; the caller has seen to it that indices fit.
    std::unique_ptr<index_t[]> wide;
    for_each_run(
        pool, to, [&](index_t n) { wide = std::make_unique_for_overwrite<index_t[]>(static_cast<std::size_t>(n)); },
        [&](index_t first, index_t count) {
          const Tensor run = rows_of(to, first, count);
          const ConstTensor seen = rows_of(from, first, count == to.shape[0] ? from.shape[0] : count);
          forward(pool, {.x = seen, .y = run, .indices = Tensor(wide.get(), run.shape), .space = counted});
          std::copy_n(wide.get(), element_count(run.shape),
                      static_cast<std::int32_t*>(rows_of(places, first, count).data));
        });
  });
}

ffi::Error forward_here(ffi::AnyBuffer x, Out y, Words words) { return forward_pool(kHere, x, y, words); }
ffi::Error backward_linear_here(ffi::AnyBuffer dy, Out dx, Words words) {
  return backward_linear(kHere, dy, dx, words);
}
ffi::Error backward_here(ffi::AnyBuffer x, ffi::AnyBuffer dy, Out dx, Words words) {
  return backward_at(kHere, x, dy, dx, words);
}

auto begin() { return ffi::Ffi::Bind(); }

}  // namespace
}  // namespace oriel::python

namespace here = oriel::python;

ORIEL_XLA_HANDLER(oriel_pool, here::forward_here, here::unary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_wrapped, here::wrapped_sum, here::unary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_indices, here::forward_indices, here::indexed(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_pick, here::pick, here::binary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_backward_linear, here::backward_linear_here, here::unary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_backward, here::backward_here, here::binary(here::begin()));

// The version of XLA's interface that this was compiled for. XLA looks at it too, but too late to be caught: when its
// backend starts.
extern "C" __attribute__((visibility("default"))) const int oriel_pool_interface[2];
const int oriel_pool_interface[2] = {XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
