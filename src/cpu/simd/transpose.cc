// Rows as columns, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/transpose.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/simd/transpose.h"
#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// kRows vectors of so many values: kRounds times the first half is interleaved with the second.
template <int kRounds, int kRows, class D>
HWY_INLINE void interleave(D d, hn::Vec<D>* v) {
  if constexpr (kRounds > 0) {
    hn::Vec<D> w[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows / 2; ++r) {
      w[2 * r] = hn::InterleaveLower(d, v[r], v[r + kRows / 2]);
      w[2 * r + 1] = hn::InterleaveUpper(d, v[r], v[r + kRows / 2]);
    }
    interleave<kRounds - 1, kRows>(d, w);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) v[r] = w[r];
  }
}

// 16 bytes of each of 1, 2 or 4 rows that stand `pitch` apart.
template <class T>
HWY_INLINE hn::Vec<hn::Full128<T>> load_rows(hn::Full128<T> d, const T* from, index_t) {
  return hn::LoadU(d, from);
}
#if ORIEL_AVX2
template <class T>
HWY_INLINE hn::Vec<hn::Full256<T>> load_rows(hn::Full256<T> d, const T* from, index_t pitch) {
  const hn::Full128<T> half;
  return hn::Combine(d, hn::LoadU(half, from + pitch), hn::LoadU(half, from));
}
#endif
#if ORIEL_AVX512
template <class T>
HWY_INLINE hn::Vec<hn::Full512<T>> load_rows(hn::Full512<T> d, const T* from, index_t pitch) {
  const hn::Full256<T> half;
  return hn::Combine(d, load_rows(half, from + 2 * pitch, pitch), load_rows(half, from, pitch));
}
#endif

// As many columns as there are values in 16 bytes, of as many rows as there are in a vector.
template <class T>
HWY_INLINE void transpose_block(const T* from, index_t columns, index_t rows, T* to) {
#if ORIEL_AVX512
  const hn::Full512<T> d;
#elif ORIEL_AVX2
  const hn::Full256<T> d;
#else
  const hn::Full128<T> d;
#endif
  constexpr int kSide = 16 / sizeof(T), kRounds = sizeof(T) == 1 ? 4 : sizeof(T) == 2 ? 3 : sizeof(T) == 4 ? 2 : 1;
  hn::Vec<decltype(d)> v[kSide];
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) v[r] = load_rows(d, from + r * columns, kSide * columns);
  interleave<kRounds, kSide>(d, v);
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) hn::StoreU(v[r], d, to + r * rows);
}

template <class T>
constexpr index_t rows_of_block() {
  return (ORIEL_AVX512 ? 64 : ORIEL_AVX2 ? 32 : 16) / sizeof(T);
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
  constexpr index_t kSide = 16 / sizeof(T), kRows = rows_of_block<T>(), kLine = 64 / sizeof(T);  // of values
  const index_t whole = columns / kSide * kSide;
  while (row + kRows <= rows) {
    const index_t end = row + (row + kLine <= rows ? kLine : kRows);
    for (index_t c = 0; c < whole; c += kSide) {  // whole lines of `to` one after the other
      for (index_t r = row; r < end; r += kRows)
        transpose_block(from + r * columns + c, columns, rows, to + c * rows + r);
    }
    for (index_t c = whole; c < columns; ++c) {
      for (index_t r = row; r < end; ++r) to[c * rows + r] = from[r * columns + c];
    }
    row = end;
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
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(transpose);
}
Transpose transpose_kernel() {
  static const PerTarget<Transpose> all{
      [](Transpose& one, std::size_t which) { one = HWY_DISPATCH_TABLE(transpose)[which]; }};
  return all.active();
}
}  // namespace oriel::cpu
#endif
