// A build without networks: masks and green screens only.
#include "apps/portrait/segment/segmenters.h"

namespace oriel::portrait {

NamedSegmenter open_model(const MaskSource& source) {
  throw Error((source.model.empty() ? std::string("--model") : source.model) +
              ": this build has no networks; allowed: --mask FILE or --key COLOUR");
}

}  // namespace oriel::portrait
