#include "cli/window_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr std::string_view kAllowedPadding = "1, 1x2, 0+1x2+3 (before+after), same, same_lower, valid";

[[noreturn]] void fail(std::string_view option, std::string_view text, std::string_view allowed) {
  throw Error(fmt::format("{}: {} is not understood; allowed: {}", option, detail::quoted(text), allowed));
}

std::string without_spaces(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ') out += c;
  return out;
}

bool parse_whole(std::string_view text, index_t& value) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

void parse_padding(const std::string& text, Pool& pool) {
  if (text == "valid") return;
  if (text == "same" || text == "same_upper" || text == "same_lower") {
    pool.windows.padding = text == "same_lower" ? Padding::same_lower : Padding::same_upper;
    return;
  }
  const std::string packed = without_spaces(text);
  bool both = false;
  const auto parts = split(packed, 'x');
  if (parts.size() > kMaxPooledAxes) fail("--padding", text, fmt::format("at most {} values", kMaxPooledAxes));
  for (const std::string_view part : parts) {
    const auto sides = split(part, part.find('+') == std::string_view::npos ? ':' : '+');  // as names, or as before
    index_t lo = 0, hi = 0;
    if (sides.size() > 2 || !parse_whole(sides.front(), lo) || !parse_whole(sides.back(), hi))
      fail("--padding", text, kAllowedPadding);
    if (lo < 0 || hi < 0) throw Error(fmt::format("--padding: must be >= 0, but has {}", lo < 0 ? lo : hi));
    both = both || sides.size() == 2;
    pool.windows.pad_lo.push_back(lo);
    pool.windows.pad_hi.push_back(hi);
  }
  if (!both) pool.windows.pad_hi = {};
}

double parse_norm(const std::string& text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !(value >= 1)) fail("--norm", text, "a number >= 1, or inf");
  return value;
}

// Kernel, stride and the like: make_problem names the axis too, but not the option.
Extents parse_positive(std::string_view option, const std::string& text) {
  if (text.empty()) return {};
  const Extents values = parse_numbers(option, text, 'x');
  for (const index_t v : values)
    if (v < 1) throw Error(fmt::format("{}: must be >= 1, but has {}", option, v));
  return values;
}

}  // namespace

Extents parse_numbers(std::string_view option, std::string_view text, char separator) {
  const std::string packed = without_spaces(text);
  const auto parts = split(packed, separator);
  if (parts.size() > kMaxPooledAxes) fail(option, text, fmt::format("at most {} values", kMaxPooledAxes));
  Extents values;
  for (const std::string_view part : parts) {
    index_t value = 0;
    if (!parse_whole(part, value))
      fail(option, text, separator == 'x' ? "numbers such as 3 or 3x5" : "numbers such as -2,-1");
    values.push_back(value);
  }
  return values;
}

Pool make_pool(const WindowOptions& options) {
  Pool pool;
  const bool quantile = !options.statistic.quantile.empty() || !options.statistic.rank.empty();
  pool.op = parse_op(!options.op.empty() ? options.op : quantile ? "quantile" : "max");
  if (options.global) pool.windows.kind = WindowKind::global;
  if (!options.output_size.empty()) pool.windows.kind = WindowKind::adaptive;
  if (pool.windows.kind == WindowKind::uniform && options.kernel.empty() && options.statistic.footprint.empty())
    throw Error("--kernel: is required (e.g. 2 or 3x3) unless --output-size, --global or --footprint is given");
  pool.windows.kernel = parse_positive("--kernel", options.kernel);
  pool.windows.stride = parse_positive("--stride", options.stride);
  pool.windows.dilation = parse_positive("--dilation", options.dilation);
  pool.windows.output_size = parse_positive("--output-size", options.output_size);
  if (!options.padding.empty()) parse_padding(options.padding, pool);
  if (!options.axes.empty()) pool.windows.axes = parse_numbers("--axes", options.axes, ',');
  pool.windows.ceil_mode = options.ceil;
  pool.count_include_pad = !options.exclude_pad;
  if (!options.divisor.empty()) {
    if (!parse_whole(options.divisor, pool.divisor) || pool.divisor < 1)
      fail("--divisor", options.divisor, "a whole number >= 1");
  }
  if (!options.norm.empty()) {
    if (pool.op != Op::lp) throw Error(fmt::format("--norm: needs --op lp, but the op is {}", name(pool.op)));
    pool.norm = parse_norm(options.norm);
  }
  if (options.nan == "omit") pool.nan = NanPolicy::omit;
  apply(options.statistic, pool);
  return pool;
}

Pool on_input(const Pool& pool, bool is_picture) {
  Pool result = pool;
  if (is_picture && pool.windows.axes.empty()) result.windows.axes = {0, 1};
  return result;
}

Extents pooled_axes(const Problem& problem) {
  Extents axes;
  for (int i = 0; i < problem.pooled; ++i) axes.push_back(problem.axes[static_cast<std::size_t>(i)]);
  return axes;
}

std::string show_axes(const Problem& problem) {
  const Extents axes = pooled_axes(problem);
  std::string text = axes.size() == 1 ? "axis" : "axes";
  for (int i = 0; i < axes.size(); ++i) text += fmt::format("{}{}", i == 0 ? " " : ", ", axes[i]);
  return text + fmt::format(" of {}", problem.shape.size());
}

}  // namespace oriel::cli
