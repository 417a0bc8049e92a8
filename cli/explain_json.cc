#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/axis_picture.h"
#include "cli/explain.h"
#include "cli/json.h"
#include "oriel/pool.h"

namespace oriel::cli {
namespace {

Json axis_json(const Problem& problem, int i) {
  const Axis& a = problem.axis[static_cast<std::size_t>(i)];
  Json windows = Json::array();
  for (index_t o = 0; o < a.out; ++o) {
    const Row row = describe_window(problem, a, o);
    windows.push_back({{"output", o},
                       {"start", a.start(o)},
                       {"taps", row.nominal},
                       {"inputs", row.existing},
                       {"padding", row.padding},
                       {"beyond", row.beyond},
                       {"divisor", row.divisor}});
  }
  return {{"axis", problem.axes[static_cast<std::size_t>(i)]},
          {"inputs", a.in},
          {"outputs", a.out},
          {"read_to", a.needs({0, a.out}).end},
          {"facts", facts(problem, i)},
          {"windows", std::move(windows)}};
}

}  // namespace

std::string explain_json(const Problem& problem) {
  Json axes = Json::array();
  for (int i = 0; i < problem.pooled; ++i) {
    constexpr index_t most = 1000000;
    const auto n = static_cast<std::size_t>(i);
    if (problem.axis[n].out > most)
      throw Error(fmt::format("explain: at most {} windows of an axis are listed, but axis {} has {}", most,
                              problem.axes[n], problem.axis[n].out));
    axes.push_back(axis_json(problem, i));
  }
  return json_text({{"name", to_string(problem)},
                    {"shape", json_of(problem.shape)},
                    {"output_shape", json_of(problem.output_shape)},
                    {"axes", std::move(axes)}});
}

std::string strategy_text(const Problem& problem) {
  const Explanation p = explain(problem);
  return fmt::format(
      "{}\n{}\n\n  strategy    {}: {}\n  target      {}\n  bytes       {} read, {} written, if each moves once\n"
      "  operations  {:.0f} combinations of two elements; {:.0f} if every window were folded for itself\n",
      to_string(problem), headline(problem), p.strategy, p.why, active_target(), p.bytes_read, p.bytes_written,
      p.combinations, p.direct);
}

std::string strategy_json(const Problem& problem) {
  const Explanation p = explain(problem);
  return json_text({{"name", to_string(problem)},
                    {"strategy", p.strategy},
                    {"why", p.why},
                    {"target", active_target()},
                    {"bytes_read", p.bytes_read},
                    {"bytes_written", p.bytes_written},
                    {"combinations", json_of(p.combinations)},
                    {"direct_combinations", json_of(p.direct)}});
}

}  // namespace oriel::cli
