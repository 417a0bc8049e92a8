// oriel-portrait compare: a network's blocks and times beside those of other engines.
#include "apps/portrait/commands/options.h"
#include "cli/progress.h"

namespace oriel::portrait {

int run_compare(CompareCommand command) {
  const Comparison result = compare(command.options);
  cli::print(command.json ? json_of(result) : text_of(result));
  return cli::kExitDone;
}

}  // namespace oriel::portrait
