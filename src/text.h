// Texts by fmt::format. Builds without fmt (ORIEL_CPU=OFF, which needs nothing but nvcc and CMake) have the part of it
// that floors 0 to 3, networks and the Python module use: every {} is replaced by a value, in order.
#pragma once

#ifndef ORIEL_WITHOUT_FMT
#include <fmt/format.h>
#else

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace oriel::fmt {

struct FormatText {
  std::string_view text;
  template <class S>
  requires std::convertible_to<const S&, std::string_view>
  constexpr FormatText(const S& s) : text(s) {}
};
template <class... Values>
using format_string = FormatText;
inline FormatText runtime(std::string_view text) { return {text}; }

namespace detail {

inline void append(std::string& out, std::string_view value) { out += value; }
inline void append(std::string& out, const char* value) { out += value; }
template <class V>
requires std::integral<V> || std::floating_point<V>
void append(std::string& out, V value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace detail

template <class... Values>
std::string format(FormatText text, const Values&... values) {
  std::string out;
  std::string_view rest = text.text;
  [[maybe_unused]] const auto take = [&](const auto& value) {
    const std::size_t at = rest.find("{}");
    if (at == std::string_view::npos) return;
    out += rest.substr(0, at);
    detail::append(out, value);
    rest.remove_prefix(at + 2);
  };
  (take(values), ...);
  return out + std::string(rest);
}

}  // namespace oriel::fmt

#endif
