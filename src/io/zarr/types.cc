#include "io/zarr/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace oriel::io::zarr {
namespace {

struct TypeName {
  Dtype dtype;
  std::string_view name;     // of version 3
  std::string_view typestr;  // of version 2, without the byte order
};
constexpr std::array kTypes{TypeName{Dtype::f64, "float64", "f8"}, TypeName{Dtype::f32, "float32", "f4"},
                            TypeName{Dtype::f16, "float16", "f2"}, TypeName{Dtype::bf16, "bfloat16", "bfloat16"},
                            TypeName{Dtype::i8, "int8", "i1"},     TypeName{Dtype::u8, "uint8", "u1"},
                            TypeName{Dtype::i16, "int16", "i2"},   TypeName{Dtype::u16, "uint16", "u2"},
                            TypeName{Dtype::i32, "int32", "i4"},   TypeName{Dtype::u32, "uint32", "u4"},
                            TypeName{Dtype::i64, "int64", "i8"},   TypeName{Dtype::u64, "uint64", "u8"},
                            TypeName{Dtype::boolean, "bool", "b1"}};

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The bits of an element, as `0x7fc00000`.
std::optional<std::vector<std::byte>> parse_bits(const std::string& text, index_t size) {
  if (!text.starts_with("0x") || text.size() != static_cast<std::size_t>(2 + 2 * size)) return std::nullopt;
  if (text.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos) return std::nullopt;
  const std::uint64_t bits = std::stoull(text.substr(2), nullptr, 16);
  switch (size) {
    case 2:
      return bytes_of(static_cast<std::uint16_t>(bits));
    case 4:
      return bytes_of(static_cast<std::uint32_t>(bits));
    default:
      return bytes_of(bits);
  }
}

std::optional<double> parse_special(const std::string& text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

template <class T>
std::optional<std::vector<std::byte>> parse_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (std::in_range<T>(number)) return bytes_of(static_cast<T>(number));
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (std::in_range<T>(number)) return bytes_of(static_cast<T>(number));
  } else if (value.is_number_float()) {
    constexpr double exact = 0x1p53;
    const auto number = value.get<double>();  // version 2 may say 0.0
    if (std::abs(number) <= exact && std::trunc(number) == number &&
        std::in_range<T>(static_cast<std::int64_t>(number)))
      return bytes_of(static_cast<T>(number));
  }
  return std::nullopt;
}

template <class T>
std::optional<std::vector<std::byte>> parse_one(const Json& value) {
  if constexpr (std::is_same_v<T, bool8>) {
    if (value.is_boolean()) return bytes_of(bool8(value.get<bool>()));
    if (value.is_number() && (value == 0 || value == 1)) return bytes_of(bool8(value == 1));
    return std::nullopt;
  } else if constexpr (is_floating_v<T>) {
    if (value.is_number()) return bytes_of(static_cast<T>(value.get<double>()));
    if (!value.is_string()) return std::nullopt;
    const auto text = value.get<std::string>();
    if (const auto special = parse_special(text)) return bytes_of(static_cast<T>(*special));
    return parse_bits(text, sizeof(T));
  } else {
    return parse_integer<T>(value);
  }
}

template <class T>
Json one_json(const std::vector<std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  if constexpr (std::is_same_v<T, bool8>) {
    return static_cast<bool>(value);
  } else if constexpr (is_floating_v<T>) {
    const auto number = static_cast<double>(value);
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    return number;
  } else {
    return value;
  }
}

}  // namespace

std::string type_name(Dtype dtype) {
  for (const TypeName& type : kTypes)
    if (type.dtype == dtype) return std::string(type.name);
  throw Error(fmt::format("zarr: {} has no name", name(dtype)));
}

Dtype parse_type_name(const Json& value, const std::string& file) {
  const std::string given =
      value.is_string() || configuration_of(value).empty() ? name_of(value, "data_type", file) : "";
  for (const TypeName& type : kTypes)
    if (type.name == given) return type.dtype;
  refuse(file, "data_type", value, "bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64");
}

std::string typestr(Dtype dtype) {
  for (const TypeName& type : kTypes) {
    if (type.dtype != dtype) continue;
    const char* const order = dtype == Dtype::bf16 ? "" : size_bytes(dtype) == 1 ? "|" : "<";
    return order + std::string(type.typestr);
  }
  throw Error(fmt::format("zarr: {} has no name", name(dtype)));
}

StoredType parse_typestr(const Json& value, const std::string& file) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (text == "bfloat16") return {Dtype::bf16, false};
  for (const TypeName& type : kTypes) {
    if (text.empty() || text.substr(1) != type.typestr || type.dtype == Dtype::bf16) continue;
    const bool one = size_bytes(type.dtype) == 1;
    if (text[0] == '<' || text[0] == '>' || (one && text[0] == '|')) return {type.dtype, text[0] == '>'};
  }
  refuse(file, "dtype", value, "|b1, <i1 to <i8, <u1 to <u8, <f2, <f4, <f8, bfloat16, also with >");
}

std::vector<std::byte> parse_fill(const Json& value, Dtype dtype, const std::string& file) {
  if (value.is_null()) return std::vector<std::byte>(static_cast<std::size_t>(size_bytes(dtype)), std::byte{0});
  const std::optional<std::vector<std::byte>> bytes = visit(dtype, [&]<class T>() { return parse_one<T>(value); });
  if (!bytes) refuse(file, "fill_value", value, fmt::format("a value of {}", type_name(dtype)));
  return *bytes;
}

Json fill_json(const std::vector<std::byte>& fill, Dtype dtype) {
  if (fill.empty()) return fill_json(std::vector<std::byte>(static_cast<std::size_t>(size_bytes(dtype))), dtype);
  const Json json = visit(dtype, [&]<class T>() { return one_json<T>(fill); });
  return parse_fill(json, dtype, "fill_value") == fill ? json : Json();
}

bool is_filled(const Bytes& elements, const std::vector<std::byte>& fill) {
  if (elements.empty()) return true;
  const std::byte zero{0};
  const std::byte* const first = fill.empty() ? &zero : fill.data();
  const std::size_t size = std::max<std::size_t>(fill.size(), 1);
  if (elements.size() < size) return false;
  // The first is the fill value, and each of the others is the one before it.
  return std::memcmp(elements.data(), first, size) == 0 &&
         std::memcmp(elements.data(), elements.data() + size, elements.size() - size) == 0;
}

}  // namespace oriel::io::zarr
