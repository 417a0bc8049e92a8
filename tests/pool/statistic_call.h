// A pool over valid taps of a few numbers.
#pragma once

#include <cstring>
#include <vector>

#include "oriel/pool.h"

namespace oriel::test {

/// The result of dtype R; a mask and weights may be given, dense and of x's shape.
template <class R, class T>
std::vector<R> pooled(const Pool& pool, const std::vector<T>& x, const Extents& shape,
                      const std::vector<std::uint8_t>& mask = {}, const std::vector<double>& weights = {}) {
  const Extents out = make_problem(pool, dtype_v<T>, shape).output_shape;
  std::vector<R> y(static_cast<std::size_t>(element_count(out)));
  forward(pool, {.x = ConstTensor(x.data(), shape),
                 .y = Tensor(y.data(), out),
                 .mask = mask.empty() ? ConstTensor() : ConstTensor(mask.data(), shape),
                 .weights = weights.empty() ? ConstTensor() : ConstTensor(weights.data(), shape)});
  return y;
}

/// The same with the numbers of the chosen taps.
template <class T>
std::vector<std::int64_t> chosen(const Pool& pool, const std::vector<T>& x, const Extents& shape,
                                 const std::vector<std::uint8_t>& mask = {}, IndexSpace space = IndexSpace::plane) {
  const Extents out = make_problem(pool, dtype_v<T>, shape).output_shape;
  std::vector<T> y(static_cast<std::size_t>(element_count(out)));
  std::vector<std::int64_t> indices(y.size());
  forward(pool, {.x = ConstTensor(x.data(), shape),
                 .y = Tensor(y.data(), out),
                 .indices = Tensor(indices.data(), out),
                 .space = space,
                 .mask = mask.empty() ? ConstTensor() : ConstTensor(mask.data(), shape)});
  return indices;
}

/// The gradient of dy.
template <class T>
std::vector<T> slopes(const Pool& pool, const std::vector<T>& x, const std::vector<T>& dy, const Extents& shape,
                      const std::vector<std::uint8_t>& mask = {}, const std::vector<double>& weights = {}) {
  std::vector<T> dx(x.size(), T(77));
  backward(pool, {.x = ConstTensor(x.data(), shape),
                  .dy = ConstTensor(dy.data(), make_problem(pool, dtype_v<T>, shape).output_shape),
                  .dx = Tensor(dx.data(), shape),
                  .mask = mask.empty() ? ConstTensor() : ConstTensor(mask.data(), shape),
                  .weights = weights.empty() ? ConstTensor() : ConstTensor(weights.data(), shape)});
  return dx;
}

/// The same bits, but for the payload of a NaN.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != a[i] && b[i] != b[i]) continue;
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return false;
  }
  return true;
}

}  // namespace oriel::test
