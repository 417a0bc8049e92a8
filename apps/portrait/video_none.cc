// A build without FFmpeg's libraries.
#include "apps/portrait/options.h"

namespace oriel::portrait {

int run_video(VideoCommand c) {  // NOLINT(performance-unnecessary-value-param): as the one that reads films
  throw Error(c.in + ": this build reads no films, FFmpeg's libraries were missing; allowed: oriel-portrait pipe");
}

}  // namespace oriel::portrait
