#include "cli/statistic_options.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "quoted.h"
#include "real_number.h"
#include "statistic_name.h"

namespace oriel::cli {
namespace {

[[noreturn]] void fail(std::string_view option, std::string_view text, std::string_view allowed) {
  throw Error(fmt::format("{}: {} is not understood; allowed: {}", option, detail::quoted(text), allowed));
}

double real_of(std::string_view option, const std::string& text, std::string_view allowed) {
  double value = 0;
  const auto [end, error] = detail::read_real(text, value);
  if (error != std::errc() || end != text.data() + text.size()) fail(option, text, allowed);
  return value;
}

index_t whole_of(std::string_view option, const std::string& text, std::string_view allowed) {
  const std::optional<Scalar> value = detail::read_scalar(text);
  if (!value || !std::holds_alternative<std::int64_t>(*value)) fail(option, text, allowed);
  return std::get<std::int64_t>(*value);
}

Scalar scalar_of(std::string_view option, const std::string& text) {
  const std::optional<Scalar> value = detail::read_scalar(text);
  if (!value) fail(option, text, "a number such as 0, -9999, 1e20 or nan");
  return *value;
}

// disk:5, octagon:3x2, line:9x45, or rows of digits: 010,111,010.
Footprint footprint_of(const std::string& text) {
  constexpr std::string_view kAllowed =
      "disk:R, ball:R, diamond:R, octahedron:R, octagon:MxN, ellipse:WxH, line:LENGTHxDEGREES, or rows such as "
      "010,111,010";
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const std::string name = text.substr(0, colon), numbers = text.substr(colon + 1);
    const std::size_t x = numbers.find('x');
    const bool two = x != std::string::npos;
    const index_t first = whole_of("--footprint", numbers.substr(0, x), kAllowed);
    if (name == "line" && two) return line(first, real_of("--footprint", numbers.substr(x + 1), kAllowed));
    const index_t second = two ? whole_of("--footprint", numbers.substr(x + 1), kAllowed) : first;
    if (name == "octagon" && two) return octagon(first, second);
    if (name == "ellipse") return ellipse(first, second);
    if (two) fail("--footprint", text, kAllowed);
    if (name == "disk") return disk(first);
    if (name == "ball") return ball(first);
    if (name == "diamond") return diamond(first);
    if (name == "octahedron") return octahedron(first);
    fail("--footprint", text, kAllowed);
  }
  Footprint footprint;
  index_t rows = 1, columns = 0, length = -1;
  for (const char c : text) {
    if (c == ',') {
      if (length >= 0 && columns != length) fail("--footprint", text, "rows of one length");
      length = columns;
      columns = 0;
      ++rows;
    } else if (c == '0' || c == '1') {
      footprint.taps.push_back(c == '1' ? 1 : 0);
      ++columns;
    } else {
      fail("--footprint", text, kAllowed);
    }
  }
  if (columns == 0 || (length >= 0 && columns != length)) fail("--footprint", text, "rows of one length");
  footprint.shape = rows == 1 ? Extents{columns} : Extents{rows, columns};
  return footprint;
}

void apply_quantiles(const StatisticOptions& o, Pool& pool) {
  std::string_view rest = o.quantile;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string one(rest.substr(0, comma));
    pool.q.push_back(real_of("--quantile", one, "numbers in 0 to 1, such as 0.9 or 0.25,0.75"));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  if (!o.rank.empty()) pool.rank = whole_of("--rank", o.rank, "a whole number; negative: from the largest");
  if (pool.op == Op::quantile && pool.q.empty() && !pool.rank)
    throw Error("--op quantile: needs --quantile or --rank, e.g. --quantile 0.9");
  if (!o.method.empty()) pool.method = *detail::method_of(o.method);
}

}  // namespace

void apply(const StatisticOptions& o, Pool& pool) {
  apply_quantiles(o, pool);
  if (!o.ties.empty()) pool.tie = o.ties == "first" ? Tie::first : o.ties == "highest" ? Tie::highest : Tie::lowest;
  if (!o.ignore.empty()) pool.ignore = scalar_of("--ignore", o.ignore);
  if (!o.nodata.empty()) pool.nodata = scalar_of("--nodata", o.nodata);
  if (!o.fill.empty()) pool.fill = scalar_of("--fill", o.fill);
  if (!o.min_count.empty()) pool.min_count = whole_of("--min-count", o.min_count, "a whole number >= 0");
  if (!o.min_fraction.empty()) pool.min_fraction = real_of("--min-fraction", o.min_fraction, "a number in 0 to 1");
  if (!o.ddof.empty()) {
    const index_t ddof = whole_of("--ddof", o.ddof, "a whole number >= 0");
    if (ddof < 0 || ddof > 1 << 30) fail("--ddof", o.ddof, "a whole number >= 0, less than the taps of a window");
    pool.ddof = static_cast<int>(ddof);
  }
  if (!o.sharpness.empty()) pool.sharpness = real_of("--sharpness", o.sharpness, "a number > 0");
  pool.sum_of_exponentials = o.sum;
  if (!o.result_dtype.empty()) pool.result_dtype = parse_dtype(o.result_dtype);
  if (!o.footprint.empty()) pool.footprint = footprint_of(o.footprint);
}

}  // namespace oriel::cli
