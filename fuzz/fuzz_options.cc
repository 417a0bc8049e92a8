// Any words as a command line, one a line: parse_command returns a command or throws a UsageError of one line. Where it
// names a problem, its explanation is drawn too.
#include <cstring>
#include <string>
#include <vector>

#include "cli/explain.h"
#include "cli/options.h"

namespace {

using namespace oriel;
using namespace oriel::cli;

std::vector<std::string> split_lines(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n')
      words.emplace_back();
    else if (data[i] != 0)
      words.back() += static_cast<char>(data[i]);
  }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Command command = parse_command(split_lines(data, size));
    if (const auto* const explain = std::get_if<ExplainCommand>(&command)) {
      const Extents output = explain->output.empty() ? Extents::filled(explain->problem.pooled, 0) : explain->output;
      explain_text(explain->problem, output, {.width = 100, .ascii = false, .colour = false, .full = false});
      explain_svg(explain->problem, output, false);
    }
  } catch (const UsageError& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();
  }
  return 0;
}
