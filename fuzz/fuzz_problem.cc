// Any text as a problem name: a problem whose shortest name describes it again, or an Error of one short line.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "oriel/problem.h"

namespace {

using namespace oriel;

void require(bool holds, const std::string& what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), text.c_str());
  std::abort();
}

// Every question to an axis near both its ends; the sanitizers watch the arithmetic.
void ask(const Axis& axis) {
  for (index_t o : {index_t{0}, axis.out / 2, axis.out - 1}) {
    const Range taps = axis.taps(o);
    require(taps.begin >= 0 && taps.end <= axis.width(o), "taps", std::to_string(o));
    require(axis.divisor(o, true) >= axis.divisor(o, false), "divisor", std::to_string(o));
    const Range needs = axis.needs({o, axis.out});
    require(needs.begin >= 0 && needs.end <= axis.in, "needs", std::to_string(o));
    const Axis part = axis.slice({o, axis.out});
    require(part.in == needs.size() && part.taps(0) == taps, "slice", std::to_string(o));
    require(part.adjoint().out == part.in, "adjoint", std::to_string(o));
  }
  for (index_t i : {index_t{0}, axis.in / 2, axis.in - 1}) {
    const Range feeds = axis.feeds(i);
    require(feeds.begin >= 0 && feeds.end <= axis.out, "feeds", std::to_string(i));
    const Axis adjoint = axis.adjoint();
    require(adjoint.taps(i).end <= adjoint.width(i), "taps of the adjoint", std::to_string(i));
  }
}

// Numbers in a text may be shorter than their shortest decimals (1e3 for 1000); a footprint is written with its kernel.
bool may_be_longer(const Pool& pool) {
  return pool.op == Op::lp || pool.op == Op::lse || !pool.q.empty() || !pool.footprint.empty() || pool.nodata ||
         pool.fill || pool.ignore || pool.min_fraction != 0;
}

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// The same number: the whole number 3 is the real 3.0.
bool same(const std::optional<Scalar>& a, const std::optional<Scalar>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::visit(
      [](auto v, auto w) {
        if constexpr (std::is_same_v<decltype(v), double> && std::is_same_v<decltype(w), double>)
          return same(v, w) && std::signbit(v) == std::signbit(w);
        else if constexpr (std::is_same_v<decltype(v), double> || std::is_same_v<decltype(w), double>)
          return static_cast<long double>(v) == static_cast<long double>(w);
        else
          return std::cmp_equal(v, w);
      },
      *a, *b);
}

bool same_statistic(const Pool& a, const Pool& b) {
  return a.op == b.op && a.footprint == b.footprint && same(a.nodata, b.nodata) && same(a.fill, b.fill) &&
         same(a.ignore, b.ignore) && a.min_count == b.min_count && a.min_fraction == b.min_fraction &&
         a.result_dtype == b.result_dtype && a.q == b.q && a.rank == b.rank && a.method == b.method && a.tie == b.tie &&
         a.ddof == b.ddof && a.sharpness == b.sharpness && a.sum_of_exponentials == b.sum_of_exponentials;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Problem problem;
  try {
    problem = parse_problem(text);
  } catch (const Error& e) {
    const std::string message = e.what();
    require(!message.empty() && message.size() < 500, "a long message", message);
    for (char c : message) require(c >= ' ' && c <= '~', "a message that does not print", message);
    return 0;
  }
  const std::string name = to_string(problem);
  const Problem again = parse_problem(name);
  require(to_string(again) == name, "a name that changes", text);
  require(may_be_longer(problem.pool) || name.size() <= text.size(), "not the shortest name: " + name, text);
  require(again.axes == problem.axes && again.axis == problem.axis && again.pooled == problem.pooled &&
              again.output_shape == problem.output_shape && again.shape == problem.shape &&
              again.dtype == problem.dtype && again.direction == problem.direction &&
              again.indices == problem.indices && again.pool.norm == problem.pool.norm &&
              again.pool.divisor == problem.pool.divisor && again.pool.nan == problem.pool.nan,
          "another problem", text);
  require(again.result == problem.result && again.mask == problem.mask && again.weights == problem.weights &&
              same_statistic(again.pool, problem.pool),
          "another pool over valid taps", text);
  for (int i = 0; i < problem.pooled; ++i) ask(problem.axis[static_cast<std::size_t>(i)]);
  return 0;
}
