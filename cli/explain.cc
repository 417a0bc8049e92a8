#include "cli/explain.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/axis_picture.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "io/files.h"
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

// The arrays of --mask and --input, and what the pool makes of them.
struct Files {
  io::Array mask, x;
  io::Buffer y;

  Elements elements() const { return {.x = x.view, .mask = mask.view, .y = y.view}; }
};

// Throws unless the array has the input's shape, or, for masks, extents of 1 along axes that are not pooled.
void check_shape(const char* option, const ConstTensor& array, const Problem& problem, bool is_mask) {
  bool fits = array.rank() == problem.shape.size();
  for (int a = 0; fits && a < array.rank(); ++a) {
    const auto* const end = problem.axes.data() + problem.pooled;
    const bool pooled = std::find(problem.axes.data(), end, a) != end;
    fits = array.shape[a] == problem.shape[a] || (is_mask && !pooled && array.shape[a] == 1);
  }
  if (!fits)
    throw Error(fmt::format("{}: must have the shape that the name says, {}, but has {}", option,
                            to_string(problem.shape), to_string(array.shape)));
}

Files read_files(const ExplainCommand& command, const Problem& problem) {
  Files files;
  if (!command.mask.empty()) {
    files.mask = io::read_array(command.mask, std::nullopt);
    const Dtype dtype = files.mask.view.dtype;
    if (dtype != Dtype::u8 && dtype != Dtype::boolean)
      throw Error(fmt::format("--mask: must be of dtype bool or u8, but is {}", name(dtype)));
    check_shape("--mask", files.mask.view, problem, true);
  }
  if (command.input.empty()) return files;
  files.x = io::read_array(command.input, std::nullopt);
  if (files.x.view.dtype != problem.dtype)
    throw Error(fmt::format("--input: must have the dtype that the name says, {}, but is {}", name(problem.dtype),
                            name(files.x.view.dtype)));
  check_shape("--input", files.x.view, problem, false);
  if (problem.weights || (problem.mask && command.mask.empty())) return files;  // then the results are not known
  files.y = io::allocate(problem.result, problem.output_shape);
  forward(problem.pool, {.x = files.x.view, .y = files.y.view, .mask = files.mask.view});
  return files;
}

}  // namespace

int run_explain(const ExplainCommand& command) {
  Problem problem = command.problem;
  problem.mask = problem.mask || !command.mask.empty();
  if (command.strategy) {
    print(command.json ? strategy_json(problem) : strategy_text(problem));
    return kExitDone;
  }
  const Files files = read_files(command, problem);
  const Elements elements = files.elements();
  std::vector<RankRow> ranks;
  if (!command.ranks.empty()) ranks = rank_rows(problem, command.ranks);
  const Extents output = command.output.empty() ? telling_outputs(problem) : command.output;
  if (!command.svg.empty()) {
    const std::string svg = explain_svg(problem, output, command.full, ranks, elements);
    io::OutputFile file(command.svg);
    file.write(svg.data(), svg.size());
    file.commit();
    if (command.svg == "-") return kExitDone;
  }
  if (command.json) {
    print(explain_json(problem, output, elements));
    return kExitDone;
  }
  const TextStyle style{.width = terminal_width(STDOUT_FILENO),
                        .ascii = command.ascii || !locale_is_utf8(),
                        .colour = wants_colour(STDOUT_FILENO),
                        .full = command.full};
  std::string text = explain_text(problem, output, style, elements);
  if (!ranks.empty()) text += ranks_text(problem, ranks, style.ascii);
  print(text);
  return kExitDone;
}

}  // namespace oriel::cli
