// A build without networks.
#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

int run_compare(CompareCommand) {  // NOLINT(performance-unnecessary-value-param): as the one that compares
  throw Error("compare: this build has no networks to compare");
}

}  // namespace oriel::portrait
