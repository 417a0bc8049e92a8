#include "tensor.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>

namespace oriel {
namespace {

bool has_zero(const Extents& shape) {
  for (index_t extent : shape)
    if (extent == 0) return true;
  return false;
}

[[noreturn]] void refuse(std::string allowed, std::string value) {
  throw Error(
      Error::Fields{.function = "tensor", .argument = {}, .allowed = std::move(allowed), .value = std::move(value)});
}

[[noreturn]] void refuse_pitches(const ConstTensor& t) {
  refuse("must have one pitch per axis",
         "has " + std::to_string(t.pitch.size()) + " for a shape of rank " + std::to_string(t.shape.size()));
}

[[noreturn]] void refuse_extent(const Extents& shape, int a) {
  refuse("extents must be >= 0", "axis " + std::to_string(a) + " has " + std::to_string(shape[a]));
}

[[noreturn]] void refuse_span(const ConstTensor& t, int a) {
  refuse("must span less than 2^63 bytes", "axis " + std::to_string(a) + " has " + std::to_string(t.shape[a]) +
                                               " elements at a pitch of " + std::to_string(t.pitch[a]));
}

}  // namespace

index_t element_count(const Extents& shape) {
  index_t count = 1;
  for (int a = 0; a < shape.size(); ++a) {
    if (shape[a] < 0) refuse_extent(shape, a);
    // A zero stays out of the product: the pitches of an empty tensor must fit too.
    if (shape[a] != 0 && __builtin_mul_overflow(count, shape[a], &count))
      refuse("must have at most 2^63 - 1 elements", "the shape is " + to_string(shape));
  }
  return has_zero(shape) ? 0 : count;
}

Extents dense_pitch(const Extents& shape, const Extents& order) {
  const int rank = shape.size();
  element_count(shape);
  if (!order.empty() && order.size() != rank)
    refuse("the order of axes must name all " + std::to_string(rank), "names " + std::to_string(order.size()));
  Extents pitch = Extents::filled(rank, -1);
  index_t step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const index_t axis = order.empty() ? i : order[i];
    if (axis < 0 || axis >= rank || pitch[static_cast<int>(axis)] != -1)
      refuse("the order of axes must name each of 0 to " + std::to_string(rank - 1) + " once",
             "names " + std::to_string(axis));
    pitch[static_cast<int>(axis)] = step;
    const index_t extent = shape[static_cast<int>(axis)];
    step *= extent == 0 ? 1 : extent;
  }
  return pitch;
}

Extents memory_order(const Extents& pitch) {
  Extents order = Extents::filled(pitch.size(), 0);
  std::iota(order.begin(), order.end(), index_t{0});
  const auto reach = [&](index_t axis) { return std::abs(pitch[static_cast<int>(axis)]); };
  std::sort(order.begin(), order.end(), [&](index_t a, index_t b) {  // which allocates nothing, as stable_sort would
    return reach(a) != reach(b) ? reach(a) > reach(b) : a < b;
  });
  return order;
}

// One loop: a tiny call spends much of its time here.
ByteSpan byte_span(const ConstTensor& t) {
  if (t.pitch.size() != t.shape.size()) refuse_pitches(t);
  const index_t bytes = size_bytes(t.dtype);
  ByteSpan span{0, bytes};
  bool empty = false;
  int too_far = -1;
  for (int a = 0; a < t.shape.size(); ++a) {
    const index_t extent = t.shape[a], pitch = t.pitch[a];
    if (extent < 0) refuse_extent(t.shape, a);
    empty |= extent == 0;
    index_t reach = 0;
    index_t& end = pitch < 0 ? span.begin : span.end;
    if (__builtin_mul_overflow(extent - 1, pitch, &reach) || __builtin_mul_overflow(reach, bytes, &reach) ||
        __builtin_add_overflow(end, reach, &end))
      too_far = a;
  }
  if (empty) return {};
  if (too_far >= 0) refuse_span(t, too_far);
  return span;
}

namespace detail {

void check_element_count(std::size_t given, const Extents& shape) {
  const index_t count = element_count(shape);
  if (given == static_cast<std::size_t>(count)) return;
  refuse("must have " + std::to_string(count) + " elements for the shape " + to_string(shape),
         "the range has " + std::to_string(given));
}

}  // namespace detail

bool may_overlap(const ConstTensor& a, const ConstTensor& b) {
  return a.device == b.device && may_overlap(a.data, byte_span(a), b.data, byte_span(b));
}

bool may_overlap(const void* a, ByteSpan sa, const void* b, ByteSpan sb) {
  if (sa.begin == sa.end || sb.begin == sb.end) return false;
  // Unsigned arithmetic: an address plus a negative offset wraps to the right place.
  const auto at = [](const void* data, index_t offset) {
    return reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(offset);
  };
  return at(a, sa.begin) < at(b, sb.end) && at(b, sb.begin) < at(a, sa.end);
}

bool may_self_overlap(const ConstTensor& t) {
  byte_span(t);  // refuses what does not fit
  return detail::elements_overlap(t);
}

bool detail::elements_overlap(const ConstTensor& t) {
  if (has_zero(t.shape)) return false;
  // Magnitudes without a sign: two spans of up to 2^63 - 1 bytes each add up below 2^64.
  const auto magnitude = [](index_t v) {
    return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
  };
  struct Step {
    std::uint64_t pitch, extent;
  };
  std::array<Step, kMaxRank> axes;
  std::size_t count = 0;
  for (int a = t.shape.size() - 1; a >= 0; --a)
    if (t.shape[a] > 1) axes[count++] = {magnitude(t.pitch[a]), magnitude(t.shape[a])};
  const auto each_steps_over_the_last = [&] {
    std::uint64_t reach = 0;  // how far the axes of smaller pitch go
    for (std::size_t i = 0; i < count; ++i) {
      if (axes[i].pitch <= reach) return false;
      reach += (axes[i].extent - 1) * axes[i].pitch;
    }
    return true;
  };
  if (each_steps_over_the_last()) return false;  // most tensors are in this order
  std::sort(axes.begin(), axes.begin() + count, [](const Step& a, const Step& b) { return a.pitch < b.pitch; });
  return !each_steps_over_the_last();
}

}  // namespace oriel
