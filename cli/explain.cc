#include "cli/explain.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/axis_picture.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "io/output_file.h"
#include "oriel/pool.h"

namespace oriel::cli {
namespace {

bool locale_is_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    return std::strstr(value, "UTF-8") != nullptr || std::strstr(value, "utf8") != nullptr ||
           std::strstr(value, "UTF8") != nullptr || std::strstr(value, "utf-8") != nullptr;
  }
  return true;  // nothing said: containers and services, where UTF-8 is the rule
}

Extents telling_outputs(const Problem& problem) {
  Extents out;
  for (int i = 0; i < problem.pooled; ++i) out.push_back(telling_output(problem.axis[static_cast<std::size_t>(i)]));
  return out;
}

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
    if (problem.axis[static_cast<std::size_t>(i)].out > most)
      throw Error(fmt::format("--json: lists at most {} windows, but an axis has {}", most,
                              problem.axis[static_cast<std::size_t>(i)].out));
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

int run_explain(const ExplainCommand& command) {
  if (command.strategy) {
    print(command.json ? strategy_json(command.problem) : strategy_text(command.problem));
    return kExitDone;
  }
  std::vector<RankRow> ranks;
  if (!command.ranks.empty()) ranks = rank_rows(command.problem, command.ranks);
  const Extents output = command.output.empty() ? telling_outputs(command.problem) : command.output;
  if (!command.svg.empty()) {
    const std::string svg = explain_svg(command.problem, output, command.full, ranks);
    io::OutputFile file(command.svg);
    file.write(svg.data(), svg.size());
    file.commit();
    if (command.svg == "-") return kExitDone;
  }
  if (command.json) {
    print(explain_json(command.problem));
    return kExitDone;
  }
  const TextStyle style{.width = terminal_width(STDOUT_FILENO),
                        .ascii = command.ascii || !locale_is_utf8(),
                        .colour = wants_colour(STDOUT_FILENO),
                        .full = command.full};
  std::string text = explain_text(command.problem, output, style);
  if (!ranks.empty()) text += ranks_text(command.problem, ranks, style.ascii);
  print(text);
  return kExitDone;
}

}  // namespace oriel::cli
