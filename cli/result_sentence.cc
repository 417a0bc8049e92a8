#include "cli/result_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "oriel/pool.h"
#include "statistic_rules.h"

namespace oriel::cli {
namespace {

std::string_view method_text(const Pool& pool) {
  constexpr std::string_view names[] = {"lower", "higher", "nearest", "midpoint", "linear", "inverted_cdf", "scipy"};
  if (pool.op == Op::median && pool.method == Quantile::midpoint) return "mean";
  return names[static_cast<std::size_t>(pool.method)];
}

// The place of a quantile among n sorted taps (S16).
std::string rank_text(const Pool& pool, double q, index_t n) {
  const double h = static_cast<double>(n - 1) * q, last = static_cast<double>(n - 1);
  const double low = std::floor(h), high = std::ceil(h);
  const auto rank = [&](double r) { return fmt::format("rank {} ({})", r, method_text(pool)); };
  switch (pool.method) {
    case Quantile::lower:
      return rank(low);
    case Quantile::higher:
      return rank(high);
    case Quantile::nearest:
      return rank(std::nearbyint(h));
    case Quantile::midpoint:
      return low == high ? rank(low) : fmt::format("the mean of ranks {} and {} ({})", low, high, method_text(pool));
    case Quantile::linear:
      return low == high ? rank(low)
                         : fmt::format("rank {} and {:.4g} of the way to rank {} (linear)", low, h - low, high);
    case Quantile::inverted_cdf:
      return rank(std::max(std::ceil(static_cast<double>(n) * q) - 1, 0.0));
    case Quantile::scipy:
      return rank(std::min(std::floor(static_cast<double>(n) * q), last));
  }
  return "";
}

// Which ones they are among n sorted taps; nothing if n is not known, or weights decide.
std::string ranks_text(const Problem& p, std::optional<index_t> n) {
  const Pool& pool = p.pool;
  if (pool.rank) {
    if (!n || *pool.rank >= 0) return fmt::format(": rank {}", *pool.rank);
    return fmt::format(": rank {}, {} from the end", *n + *pool.rank, -*pool.rank);
  }
  if (p.weights) return ": the first whose weights, added up to it, reach that share";
  if (!n) return fmt::format(" ({})", method_text(pool));
  if (pool.op == Op::median) return ": " + rank_text(pool, 0.5, *n);
  std::vector<std::string> each;
  for (const double q : pool.q)
    each.push_back(pool.q.size() > 1 ? fmt::format("{} is {}", q, rank_text(pool, q, *n)) : rank_text(pool, q, *n));
  return fmt::format(": {}", fmt::join(each, ", "));
}

// Which of several most frequent values is meant (S17).
std::string tie_text(const Pool& pool) {
  const std::string_view which = pool.tie == Tie::lowest    ? "the lowest"
                                 : pool.tie == Tie::highest ? "the highest"
                                                            : "the one that comes first";
  std::string text = fmt::format(", of several {}", which);
  if (pool.ignore) text += fmt::format("; {} only if there is no other", detail::to_string(*pool.ignore));
  return text;
}

std::string ddof_text(const Pool& pool, std::optional<index_t> n) {
  if (pool.ddof == 0) return "";
  return n ? fmt::format(", divided by {} - {}", *n, pool.ddof)
           : fmt::format(", divided by their number minus {}", pool.ddof);
}

// What the op makes of `taps`, words such as `the 7 valid of 9 taps`.
std::string value_text(const Problem& p, const std::string& taps, std::optional<index_t> n) {
  const Pool& pool = p.pool;
  const std::string_view weighted = p.weights ? "weighted " : "";
  const auto of = [&](std::string_view what) { return fmt::format("the {}{} of {}", weighted, what, taps); };
  switch (pool.op) {
    case Op::max:
      return of("largest");
    case Op::min:
      return of("smallest");
    case Op::avg:
      return of("mean");
    case Op::sum:
      return of("sum");
    case Op::lp:
      return of(fmt::format("L{} norm", pool.norm));
    case Op::count:
      return of("number");
    case Op::any:
      return fmt::format("whether one of {} is not 0", taps);
    case Op::all:
      return fmt::format("whether none of {} is 0", taps);
    case Op::range:
      return of("largest minus the smallest");
    case Op::midrange:
      return of("mean of the largest and the smallest");
    case Op::first:
      return of("first");
    case Op::centre:
      return of("one in the middle");
    case Op::median:
      return of("median") + ranks_text(p, n);
    case Op::quantile:
      if (pool.rank) return fmt::format("one of {}, sorted{}", taps, ranks_text(p, n));
      return of(pool.q.size() > 1 ? "quantiles" : fmt::format("quantile {}", pool.q.front())) + ranks_text(p, n);
    case Op::mode:
      return of("most frequent value") + tie_text(pool);
    case Op::nunique:
      return of("number of different values");
    case Op::var:
      return of("variance") + ddof_text(pool, n);
    case Op::std:
      return of("standard deviation") + ddof_text(pool, n);
    case Op::rms:
      return of("root of the mean square");
    case Op::prod:
      return of("product");
    case Op::geo:
      return of("geometric mean");
    case Op::harm:
      return of("harmonic mean");
    case Op::lse:
      return fmt::format("the logarithm of the {} of exponentials of {} (sharpness {})",
                         pool.sum_of_exponentials ? "sum" : "mean", taps, pool.sharpness);
    case Op::soft:
      return fmt::format("the mean of {}, weighted by their exponentials", taps);
  }
  return "";
}

// What the sum is divided by, if averages have no weights (S5).
std::string divisor_text(const Problem& p, const Extents& output, const TapCounts& counts) {
  if (p.pool.op != Op::avg || p.weights || !counts.valid) return "";
  index_t divisor = p.pool.divisor;
  if (divisor == 0 && !p.pool.count_include_pad) divisor = *counts.valid;
  if (divisor == 0 && p.pool.footprint.empty()) {
    divisor = 1;
    for (int i = 0; i < p.pooled; ++i) divisor *= p.axis[static_cast<std::size_t>(i)].divisor(output[i], true);
    divisor -= counts.existing - *counts.valid;
  }
  return divisor == 0 ? "" : fmt::format(", whose sum is divided by {}", divisor);
}

std::string taps_text(const TapCounts& c, bool may_leave_out) {
  const std::string taps = fmt::format("{} tap{}", c.taps, c.taps == 1 ? "" : "s");
  if (c.valid && *c.valid == c.taps) return "its " + taps;
  if (c.valid) return fmt::format("the {} {} of {}", *c.valid, may_leave_out ? "valid" : "existing", taps);
  if (c.existing == c.taps) return fmt::format("the valid ones of its {}", taps);
  return fmt::format("the valid ones of the {} existing of {}", c.existing, taps);
}

// Why `valid` taps are too few; empty if they are not (S14).
std::string shortage(const Problem& p, const TapCounts& c) {
  const Pool& pool = p.pool;
  const index_t valid = *c.valid, need = detail::needed_taps(pool);
  if (valid < pool.min_count) return fmt::format("{} are needed (min_count)", pool.min_count);
  if (valid < need) return fmt::format("{} needs {}", name(pool.op), need);
  if (static_cast<double>(valid) < pool.min_fraction * static_cast<double>(c.existing))
    return fmt::format("{} of the {} existing ones are needed (min_fraction)", pool.min_fraction, c.existing);
  return "";
}

// The place of the tap in the middle (S19).
Extents middle(const Problem& p, const Extents& output) {
  Extents places;
  for (int i = 0; i < p.pooled; ++i) {
    const Axis& a = p.axis[static_cast<std::size_t>(i)];
    places.push_back(a.at(output[i], (a.width(output[i]) - 1) / 2));
  }
  return places;
}

std::string validity_rule(const Problem& p, const TapMarks& marks) {
  const Pool& pool = p.pool;
  std::vector<std::string> conditions;
  if (!pool.footprint.empty()) conditions.emplace_back("the footprint has it");
  if (p.mask) conditions.emplace_back("the mask is not 0 there");
  if (pool.nodata) conditions.push_back(fmt::format("its value is not {} (nodata)", detail::to_string(*pool.nodata)));
  if (p.weights) conditions.emplace_back("its weight is not 0");
  if (pool.nan == NanPolicy::omit && is_floating(p.dtype)) conditions.emplace_back("it is no NaN");
  if (conditions.empty() || !(marks.may_leave_out() || !pool.footprint.empty())) return "";
  std::string text = "A tap is valid if it is an input";
  for (std::size_t i = 0; i < conditions.size(); ++i)
    text += (i + 1 == conditions.size() ? " and " : ", ") + conditions[i];
  return text + ".";
}

std::string shortage_rule(const Problem& p) {
  const Pool& pool = p.pool;
  const index_t need = detail::needed_taps(pool), least = std::max(pool.min_count, need);
  std::vector<std::string> cases;
  if (least == 1) cases.emplace_back("no tap is valid");
  if (least > 1)
    cases.push_back(fmt::format("fewer than {} taps are valid ({})", least,
                                pool.min_count >= need ? "min_count" : std::string_view(name(pool.op))));
  if (pool.min_fraction > 0)
    cases.push_back(fmt::format("fewer than {} of those that exist are valid (min_fraction)", pool.min_fraction));
  if (cases.empty()) return "";
  return fmt::format("If {}, the result is {}.", fmt::join(cases, ", or "), fill_text(p));
}

}  // namespace

std::string fill_text(const Problem& p) {
  if (p.pool.fill) return detail::to_string(*p.pool.fill) + " (fill)";
  if (p.pool.nodata) return detail::to_string(*p.pool.nodata) + " (nodata)";
  return is_floating(p.result) ? "nan" : p.result == Dtype::boolean ? "false" : "0";
}

bool has_sentences(const Problem& problem, const TapMarks& marks) {
  return problem.has_valid_taps() || problem.mask || problem.weights || marks.may_leave_out();
}

std::vector<std::string> valid_tap_rules(const Problem& problem, const TapMarks& marks) {
  std::vector<std::string> rules;
  for (std::string rule : {validity_rule(problem, marks), shortage_rule(problem)})
    if (!rule.empty()) rules.push_back(std::move(rule));
  rules.push_back(fmt::format("Strategy: {} (--strategy tells more).", explain(problem).strategy));
  return rules;
}

std::string describe_result(const Problem& problem, const Extents& output, const TapMarks& marks) {
  const std::optional<TapCounts> counts = marks.count(output);
  const std::string which = "Output " + to_string(output);
  if (!counts) return fmt::format("{} is {}.", which, value_text(problem, "the valid ones of its taps", std::nullopt));
  if (problem.pool.op == Op::centre && counts->valid && marks.at(output, middle(problem, output)) != Mark::tap)
    return fmt::format("{} is {}: the tap in the middle is not valid.", which, fill_text(problem));
  const std::string short_of = counts->valid ? shortage(problem, *counts) : "";
  if (!short_of.empty()) {
    return fmt::format("{} is {}: {} of its {} tap{} {} valid, but {}.", which, fill_text(problem), *counts->valid,
                       counts->taps, counts->taps == 1 ? "" : "s", *counts->valid == 1 ? "is" : "are", short_of);
  }
  std::string values;
  for (index_t k = 0; k < detail::quantile_count(problem.pool); ++k) {
    const std::string value = marks.result(output, k);
    if (!value.empty()) values += (k == 0 ? "" : " and ") + value;
  }
  if (!values.empty()) values += ", ";
  const bool several = detail::quantile_count(problem.pool) > 1;
  return fmt::format("{} {} {}{}{}.", which, several ? "has" : "is", values,
                     value_text(problem, taps_text(*counts, marks.may_leave_out()), counts->valid),
                     divisor_text(problem, output, *counts));
}

}  // namespace oriel::cli
