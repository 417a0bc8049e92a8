#include <cmath>
#include <cstring>

#include "reference/numbers.h"
#include "reference/reference.h"

namespace oriel::reference {

index_t first_difference(Dtype dtype, const void* a, const void* b, index_t count) {
  return visit(dtype, [&]<class T>() -> index_t {
    for (index_t i = 0; i < count; ++i) {
      T va, vb;
      std::memcpy(&va, static_cast<const char*>(a) + i * static_cast<index_t>(sizeof(T)), sizeof(T));
      std::memcpy(&vb, static_cast<const char*>(b) + i * static_cast<index_t>(sizeof(T)), sizeof(T));
      if (std::memcmp(&va, &vb, sizeof(T)) == 0) continue;
      if constexpr (is_floating_v<T>)
        if (std::isnan(static_cast<double>(va)) && std::isnan(static_cast<double>(vb))) continue;
      return i;
    }
    return -1;
  });
}

double element(Dtype dtype, const void* data, index_t i) {
  return visit(dtype, [&]<class T>() -> double {
    T v;
    std::memcpy(&v, static_cast<const char*>(data) + i * static_cast<index_t>(sizeof(T)), sizeof(T));
    if constexpr (is_floating_v<T>)
      return static_cast<double>(v);
    else
      return static_cast<double>(as_integer(v));
  });
}

index_t first_beyond_bound(Dtype dtype, const void* bits, const Outcome& outcome) {
  for (std::size_t i = 0; i < outcome.value.size(); ++i) {
    const double got = element(dtype, bits, static_cast<index_t>(i)), expected = outcome.value[i];
    if (std::isnan(expected) && std::isnan(got)) continue;
    if (std::isinf(expected) && got == expected) continue;
    if (std::fabs(got - expected) <= outcome.bound[i]) continue;
    return static_cast<index_t>(i);
  }
  return -1;
}

}  // namespace oriel::reference
