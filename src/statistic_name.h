// The words of a problem's name that pools over valid taps have.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "oriel/problem.h"
#include "real_number.h"

namespace oriel::detail {

struct MethodName {
  Quantile method;
  std::string_view text;
};

inline constexpr MethodName kMethods[] = {{Quantile::lower, "lower"},     {Quantile::higher, "higher"},
                                          {Quantile::nearest, "nearest"}, {Quantile::midpoint, "midpoint"},
                                          {Quantile::linear, "linear"},   {Quantile::inverted_cdf, "inverted_cdf"},
                                          {Quantile::scipy, "scipy"}};

/// The quantile method of that name, such as `inverted_cdf`; nothing if there is none.
inline std::optional<Quantile> method_of(std::string_view text) {
  for (const MethodName& m : kMethods)
    if (m.text == text) return m.method;
  return std::nullopt;
}
/// A number as a scalar: whole numbers of 64 bits are kept exactly. Nothing if the text is none.
inline std::optional<Scalar> read_scalar(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end)
    return whole;
  std::uint64_t large = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, large); error == std::errc() && at == end)
    return large;
  double real = 0;
  if (const auto [at, error] = read_real(text, real); error == std::errc() && at == end && !text.empty()) return real;
  return std::nullopt;
}

/// Reads the first word of a name: `q0.9linear`, `median_higher`, `mode_first`, `lse2`, `var`. False if it is none.
bool parse_statistic_op(std::string_view word, Pool& pool);
/// Reads a later word: `nodata0`, `min3`, `frac0.5`, `fill0`, `outf64`, `ignore0`, `ddof1`, `disk5`, `taps0110` ... The
/// shape of `taps` is left empty: it is the kernel's. False if it is none of them. Throws Error if one is given twice.
bool parse_statistic_word(std::string_view word, Pool& pool);

/// The first word.
std::string statistic_op_text(const Pool& pool);
/// The later ones, each after a colon.
std::string statistic_words(const Problem& problem);

}  // namespace oriel::detail
