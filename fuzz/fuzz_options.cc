// Any words as a command line, one a line: parse_command returns a command or throws a UsageError of one line. Where it
// names a problem, its explanation is drawn too.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cli/explain.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "oriel/tensor.h"

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

void draw(const Problem& problem, const Extents& output, std::uint64_t seed) {
  const TextStyle style{.width = 100, .ascii = false, .colour = false, .full = false};
  explain_text(problem, output, style);
  explain_svg(problem, output, false);
  index_t elements = 1;
  for (const index_t extent : problem.shape)
    if (__builtin_mul_overflow(elements, std::max<index_t>(extent, 1), &elements) || elements > 1 << 12) return;
  for (const index_t extent : problem.output_shape)
    if (extent > 1 << 12) return;
  // The same with the files of --input and --mask.
  const io::Buffer x = make_sample(problem.dtype, problem.shape, Sample::special, seed);
  const io::Buffer mask = make_mask(problem.shape, seed);
  const Elements given{.x = x.view, .mask = mask.view};
  explain_text(problem, output, style, given);
  explain_svg(problem, output, false, {}, given);
  explain_json(problem, output, given);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::vector<std::string> words = split_lines(data, size);
    const Command command = parse_command(words);
    if (const auto* const explain = std::get_if<ExplainCommand>(&command)) {
      const Extents output = explain->output.empty() ? Extents::filled(explain->problem.pooled, 0) : explain->output;
      draw(explain->problem, output, words.size() + size);
    }
  } catch (const UsageError& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();
  }
  return 0;
}
