#include "tile/rows.h"

#include <algorithm>
#include <bit>

#include "tile/convert.h"
#include "tile/element.h"

namespace oriel::tile {
namespace {

template <class T>
inline constexpr bool kIsNarrow = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

// The conversions of 16-bit floats that lie apart, without branches; oriel::half's and oriel::bfloat16's own are the
// meaning, and a test compares all of them.
inline float quick_half(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffU;
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;  // exact, subnormals too
  const std::uint32_t top = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | top | ((bits & 0x8000U) << 16));
}
inline std::uint16_t quick_half_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffffU;
  // Adding 0.5 puts the subnormal's last bit where a float rounds.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const std::uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t half_bits = magnitude >= 0x47800000U ? special : magnitude < (113U << 23) ? subnormal : normal;
  return static_cast<std::uint16_t>(half_bits | ((bits >> 16) & 0x8000U));
}
inline std::uint16_t quick_bfloat16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t nan = ((bits >> 16) & 0x8000U) | 0x7fc0U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
}

template <class T>
inline float quick_widened(T value) {
  if constexpr (std::is_same_v<T, half>)
    return quick_half(value.bits);
  else
    return widened(value);
}
template <class T>
inline T quick_narrowed(float value) {
  if constexpr (std::is_same_v<T, half>)
    return half::from_bits(quick_half_bits(value));
  else if constexpr (std::is_same_v<T, bfloat16>)
    return bfloat16::from_bits(quick_bfloat16_bits(value));
  else
    return narrowed<T>(value);
}

// Calls f with a functor for `alu`, so that a loop has one operation inside.
template <class F>
void with_alu(Alu alu, const F& f) {
  switch (alu) {
#define ORIEL_TILE_ALU(which) \
  case Alu::which:            \
    return f([](float a, float b) { return apply(Alu::which, a, b); });
    ORIEL_TILE_ALU(add)
    ORIEL_TILE_ALU(subtract)
    ORIEL_TILE_ALU(multiply)
    ORIEL_TILE_ALU(divide)
    ORIEL_TILE_ALU(max)
    ORIEL_TILE_ALU(min)
    ORIEL_TILE_ALU(equal)
    ORIEL_TILE_ALU(not_equal)
    ORIEL_TILE_ALU(less)
    ORIEL_TILE_ALU(less_equal)
    ORIEL_TILE_ALU(greater)
    ORIEL_TILE_ALU(greater_equal)
    ORIEL_TILE_ALU(absolute)
    ORIEL_TILE_ALU(square)
    ORIEL_TILE_ALU(sqrt)
    ORIEL_TILE_ALU(reciprocal)
#undef ORIEL_TILE_ALU
  }
}

// The two commonest strides are loops of their own, which the compiler makes vectors of.
template <class T, class F>
void each_strided(T* data, index_t stride, index_t n, const F& f) {
  if (stride == 1) {
    for (index_t i = 0; i < n; ++i) f(data[i], i);
  } else if (stride == 2) {
    for (index_t i = 0; i < n; ++i) f(data[2 * i], i);
  } else {
    for (index_t i = 0; i < n; ++i) f(data[stride * i], i);
  }
}

}  // namespace

void load_row(float* row, const void* data, Dtype dtype, index_t offset, index_t stride, index_t n) {
  visit(dtype, [&]<class T>() {
    const T* x = static_cast<const T*>(data) + offset;
    if (stride == 0) {
      std::fill_n(row, n, widened(*x));
      return;
    }
    if constexpr (kIsNarrow<T>) {
      if (stride == 1) return widen_row(row, x, n);
    }
    each_strided(x, stride, n, [=](T v, index_t i) { row[i] = quick_widened(v); });
  });
}

void store_row(const float* row, void* data, Dtype dtype, index_t offset, index_t stride, index_t n) {
  visit(dtype, [&]<class T>() {
    if constexpr (kIsNarrow<T>) {
      if (stride == 1) return narrow_row(row, static_cast<T*>(data) + offset, n);
    }
    each_strided(static_cast<T*>(data) + offset, stride, n, [=](T& v, index_t i) { v = quick_narrowed<T>(row[i]); });
  });
}

void round_row(float* row, Dtype dtype, index_t n, float factor) {
  if (dtype == Dtype::f16) return round_to_half(row, factor, n);
  if (dtype == Dtype::bf16) return round_to_bfloat16(row, factor, n);
  if (dtype != Dtype::f32)
    visit(dtype, [&]<class T>() {
      for (index_t i = 0; i < n; ++i) row[i] = quick_widened(quick_narrowed<T>(row[i]));
    });
  if (factor != 1) apply_scalar(Alu::multiply, row, factor, false, n);
}

void copy_row(const void* from, index_t from_offset, index_t from_stride, void* to, index_t to_offset,
              index_t to_stride, index_t size, index_t n) {
  const auto move = [&]<class T>(T) {
    const T* x = static_cast<const T*>(from) + from_offset;
    T* y = static_cast<T*>(to) + to_offset;
    if (from_stride == 1 && to_stride == 1) {
      std::memmove(y, x, static_cast<std::size_t>(n) * sizeof(T));
    } else {
      for (index_t i = 0; i < n; ++i) y[i * to_stride] = x[i * from_stride];
    }
  };
  if (size == 4) return move(std::uint32_t{});
  if (size == 2) return move(std::uint16_t{});
  move(std::uint8_t{});
}

void apply_rows(Alu alu, float* a, const float* b, index_t n) {
  with_alu(alu, [&](auto f) {
    for (index_t i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
  });
}

float factor_of(Alu alu, float scalar, bool scalar_first) {
  if (alu == Alu::multiply) return scalar;
  int exponent = 0;
  const bool is_power = std::frexp(scalar, &exponent) == 0.5F && std::abs(exponent) < 100;
  return alu == Alu::divide && !scalar_first && is_power ? 1 / scalar : 0;  // the same quotient
}

void apply_scalar(Alu alu, float* row, float scalar, bool scalar_first, index_t n) {
  if (const float factor = factor_of(alu, scalar, scalar_first); factor != 0) {
    alu = Alu::multiply;  // several times as fast
    scalar = factor;
  }
  with_alu(alu, [&](auto f) {
    if (scalar_first) {
      for (index_t i = 0; i < n; ++i) row[i] = f(scalar, row[i]);
    } else {
      for (index_t i = 0; i < n; ++i) row[i] = f(row[i], scalar);
    }
  });
}

void fold_row(Alu alu, float* row, const void* data, Dtype dtype, index_t offset, index_t stride, index_t n,
              float* scratch) {
  if (dtype != Dtype::f32 || stride == 0) {
    load_row(scratch, data, dtype, offset, stride, n);
    return apply_rows(alu, row, scratch, n);
  }
  with_alu(alu, [&](auto f) {
    each_strided(static_cast<const float*>(data) + offset, stride, n,
                 [=](float v, index_t i) { row[i] = f(row[i], v); });
  });
}

}  // namespace oriel::tile
