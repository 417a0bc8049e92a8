// Indices in the dtypes that small codes have (S10): the tap's number, all bits set where a window has no tap.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/runtime/tensor_rows.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// What says that a window has no tap: -1, or the highest value of an unsigned type.
template <class Index>
inline constexpr Index kNoTap = static_cast<Index>(-1);

/// Calls body with a null pointer to the type of an index: u8, i32 or i64.
template <class Body>
decltype(auto) visit_index(Dtype dtype, const Body& body) {
  if (dtype == Dtype::u8) return body(static_cast<std::uint8_t*>(nullptr));
  if (dtype == Dtype::i32) return body(static_cast<std::int32_t*>(nullptr));
  return body(static_cast<std::int64_t*>(nullptr));
}

/// Codes of any index type as i64, in memory of its own that lies in their order.
class WideCodes {
 public:
  WideCodes(const ConstTensor& codes, int threads);
  const Tensor& view() const { return view_; }

 private:
  TemporaryTensor memory_;
  Tensor view_;
};

}  // namespace oriel::cpu
