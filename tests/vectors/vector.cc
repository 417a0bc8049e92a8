#include "vectors/vector.h"

#include <cstring>

namespace oriel::vectors {
namespace {

class Words {
 public:
  explicit Words(std::uint32_t seed) : state_(seed) {}
  std::uint32_t next() { return state_ = state_ * 1664525U + 1013904223U; }

 private:
  std::uint32_t state_;
};

// The fields of a floating type.
struct Format {
  int bits, fraction;
  std::uint64_t bias, infinity, quiet_nan;
};

Format format_of(Dtype dtype) {
  if (dtype == Dtype::f16) return {16, 10, 15, 0x7c00U, 0x7e00U};
  if (dtype == Dtype::bf16) return {16, 7, 127, 0x7f80U, 0x7fc0U};
  if (dtype == Dtype::f32) return {32, 23, 127, 0x7f800000U, 0x7fc00000U};
  return {64, 52, 1023, 0x7ff0000000000000U, 0x7ff8000000000000U};
}

std::uint64_t signed_bits(const Format& f, bool negative, std::uint64_t magnitude) {
  return magnitude | static_cast<std::uint64_t>(negative ? 1 : 0) << (f.bits - 1);
}

// 2^-8 <= |value| < 2^8.
std::uint64_t float_bits(const Format& f, Words& words) {
  const std::uint32_t s = words.next();
  const std::uint64_t exponent = f.bias - 8 + ((s >> 27) & 15);
  const std::uint64_t upper = s & 0x7ffffffU;  // 27 bits that follow those of the exponent
  const std::uint64_t fraction = f.bits == 64 ? (upper >> 7) << 32 | words.next() : upper >> (27 - f.fraction);
  return signed_bits(f, s >> 31 != 0, exponent << f.fraction | fraction);
}

// A whole number of -4 to 4.
std::uint64_t small_bits(const Format& f, int n) {
  const std::uint64_t magnitude = static_cast<std::uint64_t>(n < 0 ? -n : n);
  if (magnitude == 0) return 0;
  const std::uint64_t power = magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0;  // 2^power is its first digit
  const std::uint64_t rest = magnitude - (std::uint64_t{1} << power);
  return signed_bits(f, n < 0, (f.bias + power) << f.fraction | rest << (f.fraction - static_cast<int>(power)));
}

std::uint64_t special_bits(const Format& f, std::uint32_t s) {
  const std::uint32_t c = s >> 27;
  switch (c) {
    case 0:
      return f.quiet_nan;
    case 1:
      return f.infinity;
    case 2:
      return signed_bits(f, true, f.infinity);
    case 3:
      return signed_bits(f, true, 0);
    case 4:
      return 0;
    case 5:
      return 1;
    case 6:
      return signed_bits(f, true, 1);
    default:
      return small_bits(f, static_cast<int>(c & 7) - 4);
  }
}

template <class T>
std::uint64_t element_bits(Data data, Words& words) {
  if constexpr (is_floating_v<T>) {
    const Format f = format_of(dtype_v<T>);
    if (data == Data::numbers) return float_bits(f, words);
    const std::uint32_t s = words.next();
    return data == Data::ties ? small_bits(f, static_cast<int>(s >> 29) - 4) : special_bits(f, s);
  } else {
    const std::uint32_t s = words.next();
    if (std::is_same_v<T, bool8>) return s >> 31;
    if (data == Data::ties) {
      const int n = static_cast<int>(s >> 29) - (std::is_signed_v<T> ? 4 : 0);
      return static_cast<std::uint64_t>(std::int64_t{n});
    }
    if constexpr (sizeof(T) == 8)
      return static_cast<std::uint64_t>(s) << 32 | words.next();
    else
      return s >> (32 - 8 * sizeof(T));
  }
}

// The bits of an element as a number, whatever the order of its bytes in memory.
template <class T>
std::uint64_t bits_at(const std::byte* from) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  Bits bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

template <class T>
void put_bits(std::byte* to, std::uint64_t bits) {
  if constexpr (sizeof(T) == 8) {
    std::memcpy(to, &bits, sizeof bits);
  } else if constexpr (sizeof(T) == 4) {
    const auto part = static_cast<std::uint32_t>(bits);
    std::memcpy(to, &part, sizeof part);
  } else if constexpr (sizeof(T) == 2) {
    const auto part = static_cast<std::uint16_t>(bits);
    std::memcpy(to, &part, sizeof part);
  } else {
    *to = static_cast<std::byte>(bits);
  }
}

// Reads one word behind @.
void read_word(Vector& v, std::string_view word, std::string_view name) {
  const bool floating = is_floating(v.problem.dtype);
  if (word == "ties" && v.data == Data::numbers && v.problem.dtype != Dtype::boolean) {
    v.data = Data::ties;
  } else if (word == "specials" && v.data == Data::numbers && floating) {
    v.data = Data::specials;
  } else if (word == "tensor" && v.problem.indices) {
    v.space = IndexSpace::tensor;
  } else if (word == "window" && v.problem.indices) {
    v.space = IndexSpace::window;
  } else if (word == "i32" && v.problem.codes) {
    v.index_dtype = Dtype::i32;
  } else if (word == "unpool" && v.problem.indices && !v.backward() && v.space != IndexSpace::window) {
    v.unpool = true;
  } else {
    throw Error("vectors: the word @" + std::string(word) + " does not go with " + std::string(name));
  }
}

}  // namespace

Vector parse_vector(std::string_view name) {
  Vector v;
  std::size_t at = name.find('@');
  v.problem = parse_problem(name.substr(0, at));
  if (v.problem.codes) {
    v.space = IndexSpace::window;
    v.index_dtype = Dtype::u8;
  }
  while (at != std::string_view::npos) {
    const std::size_t next = name.find('@', at + 1);
    read_word(v, name.substr(at + 1, next == std::string_view::npos ? next : next - at - 1), name);
    at = next;
  }
  return v;
}

Elements inputs(Dtype dtype, index_t count, Data data, std::uint32_t seed) {
  return visit(dtype, [&]<class T>() {
    Elements out{dtype, std::vector<std::byte>(static_cast<std::size_t>(count) * sizeof(T))};
    Words words(seed);
    for (std::size_t i = 0; i < out.bytes.size(); i += sizeof(T))
      put_bits<T>(out.bytes.data() + i, element_bits<T>(data, words));
    return out;
  });
}

void Hash::add(const Elements& elements) {
  visit(elements.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < elements.bytes.size(); i += sizeof(T)) {
      std::uint64_t bits = bits_at<T>(elements.bytes.data() + i);
      if constexpr (is_floating_v<T>) {
        const Format f = format_of(dtype_v<T>);
        const std::uint64_t magnitude = bits & ((std::uint64_t{1} << (f.bits - 1)) - 1);
        if (magnitude > f.infinity) bits = f.quiet_nan;
      }
      for (std::size_t b = 0; b < sizeof(T); ++b) value_ = (value_ ^ (bits >> (8 * b) & 0xff)) * 0x100000001b3U;
    }
  });
}

}  // namespace oriel::vectors
