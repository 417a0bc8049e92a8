// Max pooling with indices, and its partial inverse.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "oriel/pool.h"

int main() {
  const oriel::Extents shape = {1, 1, 2, 4};
  const oriel::Extents pooled = {1, 1, 1, 2};
  const std::vector<float> x = {1, 9, 3, 4,  //
                                5, 6, 7, 8};
  std::vector<float> y(2);
  std::vector<std::int64_t> indices(2);
  const oriel::Tensor y_view(y.data(), pooled);
  const oriel::Tensor index_view(indices.data(), pooled);
  const oriel::Pool largest = {.op = oriel::Op::max, .windows = {.kernel = {2}, .axes = {2, 3}}};
  oriel::forward(largest, {.x = {x, shape}, .y = y_view, .indices = index_view});
  for (std::size_t o = 0; o < y.size(); ++o)
    std::printf("%g was at place %lld of its plane\n", y[o], static_cast<long long>(indices[o]));

  std::vector<float> back(x.size());
  oriel::unpool(largest.windows.axes, {.y = y_view, .indices = index_view, .x = {back, shape}});
  for (const float value : back) std::printf("%g ", value);
  std::printf("\n");
  return 0;
}
