// Reading real numbers from text, also by standard libraries whose std::from_chars reads whole numbers only.
#pragma once

#include <cerrno>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <version>
#ifdef __APPLE__
#include <xlocale.h>
#else
#include <locale.h>
#endif

namespace oriel::detail {

/// What std::from_chars gives for `text` from its first character to its last, by the C library.
inline std::from_chars_result read_real_by_c(std::string_view text, double& value) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy(text);  // ends with a 0
  const std::size_t sign = copy.starts_with('-') ? 1 : 0;
  const char first = sign < copy.size() ? copy[sign] : '\0';
  const bool starts_well =
      (first >= '0' && first <= '9') || first == '.' || (first | 0x20) == 'i' || (first | 0x20) == 'n';
  if (!starts_well) return {text.data(), std::errc::invalid_argument};
  if (first == '0' && sign + 1 < copy.size() && (copy[sign + 1] | 0x20) == 'x') {  // no hexadecimal numbers: 0 and an x
    value = sign == 0 ? 0.0 : -0.0;
    return {text.data() + sign + 1, std::errc()};
  }
  char* end = nullptr;
  const int before = errno;
  errno = 0;
  const double read = strtod_l(copy.c_str(), &end, classic);
  const bool beyond = errno == ERANGE && (read == 0 || std::isinf(read));
  errno = before;
  const char* const next = text.data() + (end - copy.c_str());
  if (end == copy.c_str()) return {text.data(), std::errc::invalid_argument};
  if (beyond) return {next, std::errc::result_out_of_range};
  value = read;
  return {next, std::errc()};
}

/// std::from_chars of a double, to the end of `text` at most.
inline std::from_chars_result read_real(std::string_view text, double& value) {
#ifdef __cpp_lib_to_chars  // libc++ defines it since it has them all
  return std::from_chars(text.data(), text.data() + text.size(), value);
#else
  return read_real_by_c(text, value);
#endif
}

}  // namespace oriel::detail
