#include "cli/explain.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/axis_picture.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "io/output_file.h"

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

}  // namespace

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
