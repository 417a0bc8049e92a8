// The tutorial's kernel, and arrays to give it.
#pragma once

#include <cmath>
#include <cstring>
#include <random>

#include "oriel/tile/jit.h"

namespace oriel::tile::test {

inline const auto tensor_avgpool_kernel = nki::jit("tensor_avgpool_kernel", [](nl::tensor in_tensor, int pool_size) {
  auto [sz_cin, sz_hin, sz_win] = in_tensor.shape<3>();
  const int sz_hout = sz_hin / pool_size, sz_wout = sz_win / pool_size;
  auto out_tensor = nl::ndarray({sz_cin, sz_hout, sz_wout}, {.dtype = in_tensor.dtype(), .buffer = nl::shared_hbm});
  auto [i0, i1, i2, i3, i4] = nl::mgrid(sz_cin, sz_hout, pool_size, sz_wout, pool_size);
  auto in_tile = nl::load(in_tensor);
  auto out_tile =
      nl::sum(in_tile[{i0, pool_size * i1 + i2, pool_size * i3 + i4}], {.axis = {2, 4}}) / (pool_size * pool_size);
  nl::store(out_tensor, {.value = out_tile});
  return out_tensor;
});

/// Small numbers, negative ones too, exact in every dtype that the language has.
inline nki::array numbers(Dtype dtype, const Extents& shape, unsigned seed = 1) {
  nki::array out(dtype, shape);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> pick(dtype == Dtype::u8 || dtype == Dtype::u16 || dtype == Dtype::u32 ? 0 : -9, 9);
  visit(dtype, [&]<class T>() {
    for (index_t i = 0; i < out.size(); ++i) out.data<T>()[i] = detail::element_of<T>(pick(random));
  });
  return out;
}

/// The same bits; any NaN is as good as another.
inline bool same_bits(const nki::array& a, const nki::array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return visit(a.dtype(), [&]<class T>() {
    for (index_t i = 0; i < a.size(); ++i) {
      const T x = a.data<T>()[i], y = b.data<T>()[i];
      if (std::memcmp(&x, &y, sizeof(T)) == 0) continue;
      if (!is_floating_v<T> || !std::isnan(static_cast<double>(x)) || !std::isnan(static_cast<double>(y))) return false;
    }
    return true;
  });
}

/// The kernel's result by the CPU, after the interpreter has given the same bits; an empty array where it did not.
template <class K, class... Args>
nki::array agreed(const K& kernel, const Args&... args) {
  const nki::array fast = kernel(args...);
  const nki::array slow = nki::simulate(kernel, nki::native)(args...);
  return same_bits(fast, slow) ? fast : nki::array();
}

/// The id of the Failure that f throws, and its text; "" where it throws none.
struct Thrown {
  std::string id, text;
};
template <class F>
Thrown thrown_by(const F& f) {
  try {
    f();
  } catch (const Failure& e) {
    return {e.id(), e.what()};
  }
  return {};
}

}  // namespace oriel::tile::test
