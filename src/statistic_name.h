// The words of a problem's name that pools over valid taps have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oriel/problem.h"

namespace oriel::detail {

/// The quantile method of that name, such as `inverted_cdf`; nothing if there is none.
ORIEL_API std::optional<Quantile> method_of(std::string_view text);
/// A number as a scalar: whole numbers of 64 bits are kept exactly. Nothing if the text is none.
ORIEL_API std::optional<Scalar> read_scalar(std::string_view text);

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
