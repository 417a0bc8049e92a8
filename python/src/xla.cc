// The functions that programs compiled by XLA call on the CPU: those of the library, behind XLA's foreign function
// interface. There is nothing of Python here.
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "xla_handlers.h"

namespace oriel::python {
namespace {

constexpr index_t kScratchElements = index_t{1} << 18;  // 2 MiB of indices: they stay in cache until they are used

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
void wrapped_sum_as(const Pool& pool, ConstTensor x, Tensor y, const Options& how) {
  x.dtype = y.dtype = dtype_v<T>;
  forward<WrappedSum<T>>(pool.windows, {.x = x, .y = y}, how);
}

void wrapped_sum(const Call& call) {
  const Pool pool = call.pool();
  const ConstTensor x = call.input(0);
  const Tensor y = call.output(0);
  switch (x.dtype) {
    case Dtype::i8:
    case Dtype::u8:
      return wrapped_sum_as<std::uint8_t>(pool, x, y, call.options());
    case Dtype::i16:
    case Dtype::u16:
      return wrapped_sum_as<std::uint16_t>(pool, x, y, call.options());
    case Dtype::i32:
    case Dtype::u32:
      return wrapped_sum_as<std::uint32_t>(pool, x, y, call.options());
    default:
      return forward(pool, {.x = x, .y = y}, call.options());  // 64-bit sums wrap in the library
  }
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
void pick_into(const Pool& pool, const ConstTensor& x, const ConstTensor& t, const Tensor& picked, const Options& how) {
  std::unique_ptr<index_t[]> places;
  for_each_run(
      pool, picked, [&](index_t n) { places = std::make_unique_for_overwrite<index_t[]>(static_cast<std::size_t>(n)); },
      [&](index_t first, index_t count) {
        const Tensor to = rows_of(picked, first, count);
        const ConstTensor from = rows_of(t, first, count == picked.shape[0] ? t.shape[0] : count);
        const ConstTensor seen = rows_of(x, first, from.shape[0]);
        // The values go to where the picked elements are written next.
        forward(pool, {.x = seen, .y = to, .indices = Tensor(places.get(), to.shape), .space = IndexSpace::tensor},
                how);
        gather(places.get(), element_count(to.shape), from, to);
      });
}

void pick(const Call& call) {
  const Pool pool = call.pool();
  const ConstTensor t = call.input(1);
  pick_into(pool, broadcast(pool, call.input(0), t.shape), t, call.output(0), call.options());
}

void forward_indices(const Call& call) {
  const IndexSpace counted = call.space();
  const Pool pool = call.pool();
  const ConstTensor x = call.input(0);
  const Tensor y = call.output(0), indices = call.output(1);
  const Options how = call.options();
  if (!are_narrow(indices)) return forward(pool, {.x = x, .y = y, .indices = indices, .space = counted}, how);
  std::unique_ptr<index_t[]> wide;
  for_each_run(
      pool, y, [&](index_t n) { wide = std::make_unique_for_overwrite<index_t[]>(static_cast<std::size_t>(n)); },
      [&](index_t first, index_t count) {
        const Tensor run = rows_of(y, first, count);
        const ConstTensor seen = rows_of(x, first, count == y.shape[0] ? x.shape[0] : count);
        forward(pool, {.x = seen, .y = run, .indices = Tensor(wide.get(), run.shape), .space = counted}, how);
        std::copy_n(wide.get(), element_count(run.shape),
                    static_cast<std::int32_t*>(rows_of(indices, first, count).data));
      });
}

// y and the codes of the taps that windows chose.
void forward_codes(const Call& call) {
  forward(call.pool(),
          {.x = call.input(0), .y = call.output(0), .indices = call.output(1), .space = IndexSpace::window},
          call.options());
}

// dx of such codes and dy.
void backward_codes(const Call& call) {
  const ConstTensor codes = call.input(0);
  backward(call.pool(), {.dy = call.input(1), .indices = codes, .space = IndexSpace::window, .dx = call.output(0)},
           call.options());
}

}  // namespace
}  // namespace oriel::python

namespace here = oriel::python;

ORIEL_XLA_HANDLER(oriel_pool, here::forward_pool)
ORIEL_XLA_HANDLER(oriel_pool_wrapped, here::wrapped_sum)
ORIEL_XLA_HANDLER(oriel_pool_indices, here::forward_indices, .outputs = 2, .has_space = true)
ORIEL_XLA_HANDLER(oriel_pool_pick, here::pick, .inputs = 2)
ORIEL_XLA_HANDLER(oriel_pool_backward_linear, here::backward_linear)
ORIEL_XLA_HANDLER(oriel_pool_backward, here::backward_extremum, .inputs = 2)
ORIEL_XLA_HANDLER(oriel_pool_codes, here::forward_codes, .outputs = 2)
ORIEL_XLA_HANDLER(oriel_pool_backward_codes, here::backward_codes, .inputs = 2)

// The oldest version of XLA's interface that the handlers work with. XLA looks at a version too, but too late to be
// caught: when its backend starts.
extern "C" __attribute__((visibility("default"))) const int oriel_pool_interface[2];
const int oriel_pool_interface[2] = {here::xla_abi::kMajor, here::xla_abi::kOldestMinor};
