#include "cli/explain.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

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

std::string axis_json(const Problem& problem, int i) {
  const Axis& a = problem.axis[static_cast<std::size_t>(i)];
  std::string windows;
  for (index_t o = 0; o < a.out; ++o) {
    const Row row = describe_window(problem, a, o);
    windows += fmt::format(
        "{}\n      {{\"output\": {}, \"start\": {}, \"taps\": {}, \"inputs\": {}, \"padding\": {}, \"beyond\": {}, "
        "\"divisor\": {}}}",
        o == 0 ? "" : ",", o, a.start(o), row.nominal, row.existing, row.padding, row.beyond, row.divisor);
  }
  std::string sentences;
  for (const std::string& fact : facts(problem, i)) sentences += (sentences.empty() ? "" : ", ") + json_string(fact);
  return fmt::format(
      "    {{\"axis\": {}, \"inputs\": {}, \"outputs\": {}, \"read_to\": {}, \"facts\": [{}],\n     \"windows\": "
      "[{}]}}",
      problem.axes[static_cast<std::size_t>(i)], a.in, a.out, a.needs({0, a.out}).end, sentences, windows);
}

}  // namespace

std::string explain_json(const Problem& problem) {
  std::string axes;
  for (int i = 0; i < problem.pooled; ++i) {
    constexpr index_t most = 1000000;
    if (problem.axis[static_cast<std::size_t>(i)].out > most)
      throw Error(fmt::format("--json: lists at most {} windows, but an axis has {}", most,
                              problem.axis[static_cast<std::size_t>(i)].out));
    axes += (i == 0 ? "" : ",\n") + axis_json(problem, i);
  }
  return fmt::format("{{\"name\": {}, \"shape\": {}, \"output_shape\": {},\n  \"axes\": [\n{}\n  ]}}\n",
                     json_string(to_string(problem)), json_list(problem.shape), json_list(problem.output_shape), axes);
}

std::string plan_text(const Problem& problem) {
  const Plan p = plan(problem);
  return fmt::format(
      "{}\n{}\n\n  strategy    {}: {}\n  target      {}\n  bytes       {} read, {} written, if each moves once\n"
      "  operations  {:.0f} combinations of two elements; {:.0f} if every window were folded for itself\n",
      to_string(problem), headline(problem), p.strategy, p.why, active_target(), p.bytes_read, p.bytes_written,
      p.combinations, p.direct);
}

std::string plan_json(const Problem& problem) {
  const Plan p = plan(problem);
  return fmt::format(
      "{{\"name\": {}, \"strategy\": {}, \"why\": {}, \"target\": {}, \"bytes_read\": {}, \"bytes_written\": {},\n"
      "  \"combinations\": {:.0f}, \"direct_combinations\": {:.0f}}}\n",
      json_string(to_string(problem)), json_string(p.strategy), json_string(p.why), json_string(active_target()),
      p.bytes_read, p.bytes_written, p.combinations, p.direct);
}

int run_explain(const ExplainCommand& command) {
  if (command.plan) {
    print(command.json ? plan_json(command.problem) : plan_text(command.problem));
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
