#include "cli/layouts.h"

#include <algorithm>

namespace oriel::cli {
namespace {

constexpr std::byte kPattern{0xa5};

Extents identity_order(int rank) {
  Extents order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  return order;
}

Extents reversed_order(int rank) {
  Extents order;
  for (int i = rank; i-- > 0;) order.push_back(i);
  return order;
}

Extents channels_last_order(int rank) {
  Extents order = {0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

// Calls f(offset in elements from the first) for every element in C order.
template <class F>
void for_each_element(const ConstTensor& t, F f) {
  const index_t count = element_count(t.shape);
  Extents at = Extents::filled(t.rank(), 0);
  index_t offset = 0;
  for (index_t i = 0; i < count; ++i) {
    f(offset);
    for (int a = t.rank() - 1; a >= 0; --a) {
      offset += t.pitch[a];
      if (++at[a] < t.shape[a]) break;
      offset -= t.pitch[a] * t.shape[a];
      at[a] = 0;
    }
  }
}

}  // namespace

std::vector<Layout> layouts_of(int rank) {
  const Extents c = identity_order(rank);
  std::vector<Layout> layouts = {{.name = "C order", .order = c}};
  if (rank > 1) layouts.push_back({.name = "reversed order", .order = reversed_order(rank)});
  if (rank > 2) layouts.push_back({.name = "channels last", .order = channels_last_order(rank)});
  layouts.push_back({.name = "padded rows", .order = c, .row_gap = 3});
  layouts.push_back({.name = "every second", .order = c, .step = 2});
  layouts.push_back({.name = "negative pitch", .order = c, .row_gap = 1, .reversed = true});
  return layouts;
}

Placed::Placed(Dtype dtype, const Extents& shape, const Layout& layout) {
  Extents pitch = Extents::filled(shape.size(), 0);
  index_t step = layout.step;
  for (int k = shape.size(); k-- > 0;) {
    const int a = static_cast<int>(layout.order[k]);
    pitch[a] = step;
    step = step * std::max<index_t>(shape[a], 1) + (k == shape.size() - 1 ? layout.row_gap : 0);
  }
  const index_t size = size_bytes(dtype);
  memory_.assign(static_cast<std::size_t>((step + 1) * size), kPattern);
  index_t first = 0;
  for (int a = 0; layout.reversed && a < shape.size(); ++a) {
    first += std::max<index_t>(shape[a] - 1, 0) * pitch[a];
    pitch[a] = -pitch[a];
  }
  view_ = Tensor(memory_.data() + first * size, dtype, shape, pitch);
}

Placed::Placed(const ConstTensor& values, const Layout& layout) : Placed(values.dtype, values.shape, layout) {
  io::copy(values, view_);
}

io::Buffer Placed::gather() const {
  io::Buffer out = io::allocate(view_.dtype, view_.shape);
  io::copy(view_, out.view);
  return out;
}

bool Placed::gaps_untouched() const {
  std::vector<std::byte> rest = memory_;
  const index_t first = static_cast<const std::byte*>(view_.data) - memory_.data();
  const index_t size = size_bytes(view_.dtype);
  for_each_element(view_, [&](index_t offset) { std::fill_n(rest.begin() + first + offset * size, size, kPattern); });
  return std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == kPattern; });
}

}  // namespace oriel::cli
