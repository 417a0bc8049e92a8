// Rows as columns, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/transpose.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// Four rows of four values of 4 bytes.
HWY_INLINE void transpose_block(const std::uint32_t* from, index_t columns, index_t rows, std::uint32_t* to) {
  const hn::Full128<std::uint32_t> d;
  const hn::Full128<std::uint64_t> d2;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + columns);
  const auto c = hn::LoadU(d, from + 2 * columns), e = hn::LoadU(d, from + 3 * columns);
  const auto low = hn::BitCast(d2, hn::InterleaveLower(d, a, b)), high = hn::BitCast(d2, hn::InterleaveUpper(d, a, b));
  const auto low2 = hn::BitCast(d2, hn::InterleaveLower(d, c, e));
  const auto high2 = hn::BitCast(d2, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, low, low2)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, low, low2)), d, to + rows);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, high, high2)), d, to + 2 * rows);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, high, high2)), d, to + 3 * rows);
}
#endif

template <class T>
void transpose_part(const T* from, index_t row, index_t rows, index_t columns, T* to) {
  for (index_t r = row; r < rows; ++r) {
    for (index_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  }
}

template <class T>
void transpose_of(const T* from, index_t rows, index_t columns, T* to) {
  index_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    const index_t whole = columns / 4 * 4;
    for (; row + 4 <= rows; row += 4) {
      for (index_t c = 0; c < whole; c += 4) {
        transpose_block(from + row * columns + c, columns, rows, to + c * rows + row);
      }
    }
    for (index_t c = whole; c < columns; ++c) {
      for (index_t r = 0; r < row; ++r) to[c * rows + r] = from[r * columns + c];
    }
  }
#endif
  transpose_part(from, row, rows, columns, to);
}

void transpose(const void* from, index_t rows, index_t columns, index_t bytes, void* to) {
  switch (bytes) {
    case 1:
      return transpose_of(static_cast<const std::uint8_t*>(from), rows, columns, static_cast<std::uint8_t*>(to));
    case 2:
      return transpose_of(static_cast<const std::uint16_t*>(from), rows, columns, static_cast<std::uint16_t*>(to));
    case 4:
      return transpose_of(static_cast<const std::uint32_t*>(from), rows, columns, static_cast<std::uint32_t*>(to));
    default:
      return transpose_of(static_cast<const std::uint64_t*>(from), rows, columns, static_cast<std::uint64_t*>(to));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(transpose);
}
void fill_transpose(ElementTable& table, std::size_t which) { table.transpose = HWY_DISPATCH_TABLE(transpose)[which]; }
}  // namespace oriel::cpu
#endif
