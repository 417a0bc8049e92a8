// A build without networks: masks and green screens only.
#include "apps/portrait/options.h"

namespace oriel::portrait {

NamedSegmenter open_model(const MaskSource& source) {
  throw Error((source.model.empty() ? std::string("--model") : source.model) +
              ": this build has no networks; allowed: --mask FILE or --key COLOUR");
}

int run_compare(CompareCommand) {  // NOLINT(performance-unnecessary-value-param): as the one that compares
  throw Error("compare: this build has no networks to compare");
}

}  // namespace oriel::portrait
