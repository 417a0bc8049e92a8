#include "statistic_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "quoted.h"
#include "real_number.h"

namespace oriel::detail {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error("problem name: " + text); }

std::string_view text_of(Quantile method) { return kMethods[static_cast<std::size_t>(method)].text; }

bool is_number_character(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+'; }

// The characters at the front of a word that belong to a number such as 1e-5 or .25.
std::string_view number_at_front(std::string_view word) {
  std::size_t n = 0;
  while (n < word.size()) {
    const bool exponent = word[n] == 'e' && n > 0 && n + 1 < word.size() && is_number_character(word[n + 1]);
    if (!is_number_character(word[n]) && !exponent) break;
    ++n;
  }
  return word.substr(0, n);
}

double real_of(std::string_view text, std::string_view word) {
  double value = 0;
  const auto [end, error] = read_real(text, value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    fail("expected a number, but the word is " + quoted(word));
  return value;
}

index_t integer_of(std::string_view text, std::string_view word) {
  index_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("expected a whole number of at most 63 bits, but the word is " + quoted(word));
  return value;
}

Scalar scalar_of(std::string_view text, std::string_view word) {
  const std::optional<Scalar> value = read_scalar(text);
  if (!value) fail("expected a number, but the word is " + quoted(word));
  return *value;
}

std::string real_text(double value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), result.ptr};
}

std::string scalar_text(const Scalar& value) {
  return std::visit(
      [](auto v) {
        if constexpr (std::is_same_v<decltype(v), double>)
          return real_text(v);
        else
          return std::to_string(v);
      },
      value);
}

void parse_quantiles(std::string_view text, std::string_view word, Pool& pool) {
  while (true) {
    const std::string_view number = number_at_front(text);
    pool.q.push_back(real_of(number, word));
    text.remove_prefix(number.size());
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  if (text.empty()) return;
  const std::optional<Quantile> method = method_of(text);
  if (!method) fail("expected q, numbers and a method such as q0.9linear, but the word is " + quoted(word));
  pool.method = *method;
}

void parse_median(std::string_view text, std::string_view word, Pool& pool) {
  if (text.empty()) return;
  const std::string_view name = text.substr(1);
  const std::optional<Quantile> method = name == "mean" ? Quantile::midpoint : method_of(name);
  if (text[0] != '_' || !method)
    fail("expected median and a method such as median_mean, but the word is " + quoted(word));
  pool.method = *method;
}

void parse_lse(std::string_view text, std::string_view word, Pool& pool) {
  if (text.ends_with("sum")) {
    pool.sum_of_exponentials = true;
    text.remove_suffix(3);
  }
  if (!text.empty()) pool.sharpness = real_of(text, word);
}

constexpr std::array kPlainOps = {Op::count, Op::any,    Op::all,     Op::range, Op::midrange,
                                  Op::first, Op::centre, Op::nunique, Op::var,   Op::std,
                                  Op::rms,   Op::prod,   Op::geo,     Op::harm,  Op::soft};

// Two numbers joined by x, or one that stands for both.
std::pair<index_t, index_t> pair_of(std::string_view text, std::string_view word) {
  const std::size_t x = text.find('x');
  const index_t first = integer_of(text.substr(0, x), word);
  return {first, x == std::string_view::npos ? first : integer_of(text.substr(x + 1), word)};
}

// A name of a few letters must not take seconds: a box of at most this many places along each of its axes.
void check_box(index_t side, int axes, std::string_view word) {
  const index_t most = axes == 2 ? 2049 : 161;  // some 2^22 places
  if (side > most)
    fail("footprints of at most " + std::to_string(most) + " places along each axis have names, but the word is " +
         quoted(word));
}

std::optional<Footprint> named_footprint(std::string_view word) {
  constexpr index_t kMost = 1 << 20;  // so that what follows does not overflow
  const auto radius = [&](std::size_t letters) {
    const index_t r = integer_of(word.substr(letters), word);
    check_box(2 * std::clamp(r, index_t{0}, kMost) + 1,
              word.starts_with("ball") || word.starts_with("octahedron") ? 3 : 2, word);
    return r;
  };
  const auto is = [&](std::string_view name) {
    return word.starts_with(name) && word.size() > name.size() && is_number_character(word[name.size()]);
  };
  if (is("disk")) return disk(radius(4));
  if (is("ball")) return ball(radius(4));
  if (is("diamond")) return diamond(radius(7));
  if (is("octahedron")) return octahedron(radius(10));
  if (is("octagon")) {
    const auto [m, n] = pair_of(word.substr(7), word);
    check_box(std::clamp(m, index_t{0}, kMost) + 2 * std::clamp(n, index_t{0}, kMost), 2, word);
    return octagon(m, n);
  }
  if (is("ellipse")) {
    const auto [width, height] = pair_of(word.substr(7), word);
    check_box(2 * std::clamp(std::max(width, height), index_t{0}, kMost) + 1, 2, word);
    return ellipse(width, height);
  }
  return std::nullopt;
}

bool parse_footprint(std::string_view word, Pool& pool) {
  std::optional<Footprint> footprint = named_footprint(word);
  if (!footprint && word.starts_with("taps")) {
    footprint.emplace();
    for (const char digit : word.substr(4)) {
      if (digit != '0' && digit != '1')
        fail("expected taps and a digit 0 or 1 for each tap, but the word is " + quoted(word));
      footprint->taps.push_back(digit == '1' ? 1 : 0);
    }
    if (footprint->taps.empty()) fail("expected taps and digits, but the word is " + quoted(word));
  }
  if (!footprint) return false;
  if (!pool.footprint.empty()) fail("a footprint is given twice");
  pool.footprint = *std::move(footprint);
  return true;
}

// The shortest text of a footprint.
std::string footprint_text(const Footprint& footprint) {
  const Extents& shape = footprint.shape;
  const bool odd = std::all_of(shape.begin(), shape.end(), [](index_t n) { return n % 2 == 1; });
  const index_t radius = shape[0] / 2;
  const auto number = [](const char* name, index_t n) { return name + std::to_string(n); };
  if (shape.size() == 2 && odd) {
    if (shape[0] == shape[1]) {
      if (footprint == disk(radius)) return number("disk", radius);
      if (footprint == diamond(radius)) return number("diamond", radius);
      const auto first = std::find(footprint.taps.begin(), footprint.taps.begin() + shape[0], 1);
      const index_t n = first - footprint.taps.begin(), m = shape[0] - 2 * n;  // the first row begins with n cut off
      if (n > 0 && m > 0 && footprint == octagon(m, n)) return number("octagon", m) + number("x", n);
    }
    if (footprint == ellipse(shape[1] / 2, radius)) return number("ellipse", shape[1] / 2) + number("x", radius);
  }
  if (shape.size() == 3 && odd && shape[0] == shape[1] && shape[1] == shape[2]) {
    if (footprint == ball(radius)) return number("ball", radius);
    if (footprint == octahedron(radius)) return number("octahedron", radius);
  }
  std::string text = "taps";
  for (const std::uint8_t tap : footprint.taps) text += tap != 0 ? '1' : '0';
  return text;
}

}  // namespace

bool parse_statistic_op(std::string_view word, Pool& pool) {
  for (const Op op : kPlainOps) {
    if (word != name(op)) continue;
    pool.op = op;
    return true;
  }
  const auto starts = [&](std::string_view text) { return word.starts_with(text); };
  if (starts("median")) {
    pool.op = Op::median;
    parse_median(word.substr(6), word, pool);
  } else if (word == "mode" || word == "mode_lowest" || word == "mode_highest" || word == "mode_first") {
    pool.op = Op::mode;
    pool.tie = word == "mode_highest" ? Tie::highest : word == "mode_first" ? Tie::first : Tie::lowest;
  } else if (starts("lse")) {
    pool.op = Op::lse;
    parse_lse(word.substr(3), word, pool);
  } else if (starts("rank")) {
    pool.op = Op::quantile;
    pool.rank = integer_of(word.substr(4), word);
  } else if (starts("q") && word.size() > 1 && is_number_character(word[1])) {
    pool.op = Op::quantile;
    parse_quantiles(word.substr(1), word, pool);
  } else {
    return false;
  }
  return true;
}

bool parse_statistic_word(std::string_view word, Pool& pool) {
  const auto scalar = [&](std::string_view key, std::optional<Scalar>& to) {
    if (!word.starts_with(key) || word.size() == key.size()) return false;
    if (to) fail(std::string(key) + " is given twice");
    to = scalar_of(word.substr(key.size()), word);
    return true;
  };
  const auto number = [&](std::string_view key, auto& to, auto read) {
    if (!word.starts_with(key) || word.size() == key.size() || !is_number_character(word[key.size()])) return false;
    if (to != 0) fail(std::string(key) + " is given twice");
    to = static_cast<std::remove_reference_t<decltype(to)>>(read(word.substr(key.size()), word));
    return true;
  };
  if (scalar("nodata", pool.nodata) || scalar("fill", pool.fill) || scalar("ignore", pool.ignore)) return true;
  if (number("min", pool.min_count, integer_of) || number("frac", pool.min_fraction, real_of) ||
      number("ddof", pool.ddof, [](std::string_view text, std::string_view whole) {
        const index_t ddof = integer_of(text, whole);
        if (ddof > 1 << 30) fail("ddof must be less than the taps of a window, but the word is " + quoted(whole));
        return ddof;
      }))
    return true;
  if (word.starts_with("out") && word.size() > 3 && !is_number_character(word[3])) {
    if (pool.result_dtype) fail("out is given twice");
    pool.result_dtype = parse_dtype(word.substr(3));
    return true;
  }
  return parse_footprint(word, pool);
}

std::string statistic_op_text(const Pool& pool) {
  switch (pool.op) {
    case Op::median:
      if (pool.method == Quantile::lower) return "median";
      return "median_" + std::string(pool.method == Quantile::midpoint ? "mean" : text_of(pool.method));
    case Op::quantile: {
      if (pool.rank) return "rank" + std::to_string(*pool.rank);
      std::string text;
      for (const double q : pool.q) text.append(text.empty() ? "q" : ",").append(real_text(q));
      return pool.method == Quantile::lower ? text : text.append(text_of(pool.method));
    }
    case Op::mode:
      return pool.tie == Tie::lowest ? "mode" : pool.tie == Tie::highest ? "mode_highest" : "mode_first";
    case Op::lse:
      return "lse" + real_text(pool.sharpness) + (pool.sum_of_exponentials ? "sum" : "");
    default:
      return std::string(name(pool.op));
  }
}

std::string statistic_words(const Problem& problem) {
  const Pool& pool = problem.pool;
  std::string text;
  const auto scalar = [&](const char* key, const std::optional<Scalar>& value) {
    if (value) text.append(":").append(key).append(scalar_text(*value));
  };
  if (!pool.footprint.empty()) text.append(":").append(footprint_text(pool.footprint));
  scalar("nodata", pool.nodata);
  if (pool.min_count != 0) text.append(":min").append(std::to_string(pool.min_count));
  if (pool.min_fraction != 0) text.append(":frac").append(real_text(pool.min_fraction));
  scalar("fill", pool.fill);
  scalar("ignore", pool.ignore);
  if (pool.ddof != 0) text.append(":ddof").append(std::to_string(pool.ddof));
  if (pool.result_dtype) text.append(":out").append(name(*pool.result_dtype));
  return text;
}

}  // namespace oriel::detail
