// The index type, element types and their text names, errors, small extents lists.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// Marks functions that device code can use if a CUDA compiler reads the header.
#if defined(__CUDACC__)
#define ORIEL_HD __host__ __device__
#else
#define ORIEL_HD
#endif

// Marks what the shared library exports.
#define ORIEL_API __attribute__((visibility("default")))

namespace oriel {

/// Every extent, offset and element count is a signed 64-bit integer (S12).
using index_t = std::int64_t;

/// Largest number of axes of a tensor.
inline constexpr int kMaxRank = 16;
/// Largest number of axes that one call may pool.
inline constexpr int kMaxPooledAxes = 8;

/// The exception of the library's functions for a call that they cannot execute (out of memory: std::bad_alloc). Its
/// text is like `max_pool: stride must be >= 1, but axis 1 has 0`: the function, the argument, what is allowed, what
/// was given.
class ORIEL_API Error : public std::runtime_error {
 public:
  /// The parts of that text, for programs whose functions and arguments have other names.
  struct Fields {
    std::string function;  ///< `max_pool`
    std::string argument;  ///< `stride`
    std::string allowed;   ///< `must be >= 1`
    std::string value;     ///< `axis 1 has 0`; empty if the rest suffices
  };

  explicit Error(const std::string& text) : std::runtime_error(text) {}
  explicit Error(const char* text) : std::runtime_error(text) {}
  /// The text is `function: argument allowed, but value`, without the parts that are empty.
  explicit Error(const Fields& fields)
      : std::runtime_error(text_of(fields)), fields_(std::make_shared<const Fields>(fields)) {}

  /// The parts of the text; null if the error was made from a text.
  const Fields* fields() const noexcept { return fields_.get(); }

  /// The text that an error of these fields has.
  static std::string text_of(const Fields& fields) {
    std::string text = fields.function.empty() ? std::string() : fields.function + ": ";
    text += fields.argument;
    if (!fields.argument.empty() && !fields.allowed.empty()) text += ' ';
    text += fields.allowed;
    return fields.value.empty() ? text : text + ", but " + fields.value;
  }

 private:
  std::shared_ptr<const Fields> fields_;  // shared, since copies of an exception must not throw
};

/// IEEE 754 binary16, stored as bits. Conversions round to nearest, ties to even.
struct half {
  std::uint16_t bits = 0;

  half() = default;
  ORIEL_HD constexpr explicit half(double value) : bits(round_bits(value)) {}
  ORIEL_HD constexpr operator float() const;  // exact

  ORIEL_HD static constexpr half from_bits(std::uint16_t bits) {
    half h;
    h.bits = bits;
    return h;
  }

 private:
  ORIEL_HD static constexpr std::uint16_t round_bits(double value);
};

/// bfloat16 (the upper half of a binary32), stored as bits. Conversions round to nearest, ties to even.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  ORIEL_HD constexpr explicit bfloat16(double value) : bits(round_bits(value)) {}
  ORIEL_HD constexpr operator float() const {  // exact
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

  ORIEL_HD static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 b;
    b.bits = bits;
    return b;
  }

 private:
  ORIEL_HD static constexpr std::uint16_t round_bits(double value);
};

/// A boolean of one byte: zero is false, anything else is true. Results are always 0 or 1.
struct bool8 {
  std::uint8_t byte = 0;

  bool8() = default;
  ORIEL_HD constexpr explicit bool8(bool value) : byte(value ? 1 : 0) {}
  ORIEL_HD constexpr operator bool() const { return byte != 0; }
};

enum class Dtype : std::uint8_t {
#define ORIEL_DTYPE(name, type, accumulator) name,
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
};

enum class Op : std::uint8_t {
#define ORIEL_OP(name, family) name,
#include "oriel/ops.def"
#undef ORIEL_OP
};

template <class T>
struct dtype_of;
template <Dtype D>
struct dtype_traits;
#define ORIEL_DTYPE(name, cpp_type, acc_type)   \
  template <>                                   \
  struct dtype_of<cpp_type> {                   \
    static constexpr Dtype value = Dtype::name; \
    using accumulator = acc_type;               \
  };                                            \
  template <>                                   \
  struct dtype_traits<Dtype::name> {            \
    using type = cpp_type;                      \
  };
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE

/// The Dtype of a C++ element type.
template <class T>
inline constexpr Dtype dtype_v = dtype_of<std::remove_cv_t<T>>::value;
/// The type in which sums of T are accumulated (S7).
template <class T>
using accumulator_t = typename dtype_of<std::remove_cv_t<T>>::accumulator;

/// True for f64, f32, f16 and bf16.
template <class T>
inline constexpr bool is_floating_v =
    std::is_floating_point_v<T> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// Calls f.operator()<T>() with the C++ type of `dtype` and returns what it returns.
template <class F>
constexpr decltype(auto) visit(Dtype dtype, F&& f) {
  switch (dtype) {
#define ORIEL_DTYPE(name, type, accumulator) \
  case Dtype::name:                          \
    return std::forward<F>(f).template operator()<type>();
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
  }
  throw Error("dtype: the value " + std::to_string(static_cast<int>(dtype)) + " is not an element type");
}

/// `f32`, `u8`, `bool` …
ORIEL_API std::string_view name(Dtype dtype);
/// `max`, `min`, `avg`, `sum`, `lp`.
ORIEL_API std::string_view name(Op op);
/// The dtype with that text name; throws Error naming the allowed ones.
ORIEL_API Dtype parse_dtype(std::string_view text);
/// The reduction with that text name; throws Error naming the allowed ones.
ORIEL_API Op parse_op(std::string_view text);
/// Bytes of one element.
ORIEL_API index_t size_bytes(Dtype dtype);
/// True for f64, f32, f16 and bf16.
ORIEL_API bool is_floating(Dtype dtype);

/// A short list of extents, pitches or axes, without allocation: at most kMaxRank values.
class Extents {
 public:
  constexpr Extents() {}  // not defaulted: `{}` would set all values
  constexpr Extents(std::initializer_list<index_t> values) {
    for (index_t v : values) push_back(v);
  }
  /// `count` times the same value. Example: Extents::filled(3, 2) is {2, 2, 2}.
  static constexpr Extents filled(int count, index_t value) {
    Extents extents;
    for (int i = 0; i < count; ++i) extents.push_back(value);
    return extents;
  }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr index_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  constexpr index_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  constexpr index_t* begin() { return values_.data(); }
  constexpr index_t* end() { return values_.data() + size_; }
  constexpr const index_t* begin() const { return values_.data(); }
  constexpr const index_t* end() const { return values_.data() + size_; }
  constexpr index_t back() const { return values_[static_cast<std::size_t>(size_ - 1)]; }
  constexpr void push_back(index_t value) {
    if (size_ == kMaxRank) throw Error("extents: at most " + std::to_string(kMaxRank) + " axes are supported");
    values_[static_cast<std::size_t>(size_++)] = value;
  }
  friend constexpr bool operator==(const Extents& a, const Extents& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<index_t, kMaxRank> values_;  // set up to size_ only: a small call has dozens of these
  int size_ = 0;
};

/// `8x64x112x112`; the empty list is `scalar`.
ORIEL_API std::string to_string(const Extents& extents);

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// Rounds |value| to `mantissa` stored bits with exponent bias `bias`, ties to even, and returns exponent and mantissa
// fields joined. Works on the double's bits, so no intermediate rounding can happen.
ORIEL_HD constexpr std::uint32_t round_magnitude(double value, int mantissa, int bias) {
  const std::uint64_t u = std::bit_cast<std::uint64_t>(value) & 0x7fffffffffffffffULL;
  const int max_field = 2 * bias + 1;
  if (u > 0x7ff0000000000000ULL) return (static_cast<std::uint32_t>(max_field) << mantissa) | (1U << (mantissa - 1));
  const int exponent = static_cast<int>(u >> 52) - 1023 + bias;
  const std::uint64_t significand = (u & 0xfffffffffffffULL) | (1ULL << 52);
  int drop = 52 - mantissa;
  std::uint64_t base = 0;
  if (exponent <= 0) {
    drop += 1 - exponent;  // subnormal: fewer bits are kept
    if (drop > 63) return 0;
  } else {
    if (exponent >= max_field) return static_cast<std::uint32_t>(max_field) << mantissa;
    base = static_cast<std::uint64_t>(exponent - 1) << mantissa;  // the hidden bit adds the one that is missing
  }
  const std::uint64_t kept = significand >> drop;
  const std::uint64_t rest = significand & ((1ULL << drop) - 1);
  const std::uint64_t tie = 1ULL << (drop - 1);
  const std::uint64_t up = rest > tie || (rest == tie && (kept & 1) != 0) ? 1 : 0;
  return static_cast<std::uint32_t>(base + kept + up);  // a carry moves to the next exponent, or to infinity
}

ORIEL_HD constexpr std::uint16_t sign_bit(double value) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint64_t>(value) >> 63) << 15);
}

}  // namespace detail

ORIEL_HD constexpr std::uint16_t half::round_bits(double value) {
  return static_cast<std::uint16_t>(detail::sign_bit(value) | detail::round_magnitude(value, 10, 15));
}

ORIEL_HD constexpr std::uint16_t bfloat16::round_bits(double value) {
  return static_cast<std::uint16_t>(detail::sign_bit(value) | detail::round_magnitude(value, 7, 127));
}

ORIEL_HD constexpr half::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
  if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
  const float tiny = static_cast<float>(magnitude) * (1.0F / 16777216.0F);  // subnormal: a multiple of 2^-24, exact
  return sign != 0 ? -tiny : tiny;
}

/// The greatest value of T: infinity if T has one.
template <class T>
constexpr T highest_value() {
  if constexpr (std::is_same_v<T, half>)
    return half::from_bits(0x7c00);
  else if constexpr (std::is_same_v<T, bfloat16>)
    return bfloat16::from_bits(0x7f80);
  else if constexpr (std::is_same_v<T, bool8>)
    return bool8(true);
  else if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

/// The least value of T: minus infinity if T has one.
template <class T>
constexpr T lowest_value() {
  if constexpr (std::is_same_v<T, half>)
    return half::from_bits(0xfc00);
  else if constexpr (std::is_same_v<T, bfloat16>)
    return bfloat16::from_bits(0xff80);
  else if constexpr (std::is_same_v<T, bool8>)
    return bool8(false);
  else if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}

}  // namespace oriel
