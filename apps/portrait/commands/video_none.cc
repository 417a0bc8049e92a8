// A build without FFmpeg's libraries.
#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

int run_video(VideoCommand c) {  // NOLINT(performance-unnecessary-value-param): as the one that reads videos
  throw Error(c.in + ": this build reads no videos, FFmpeg's libraries were missing; allowed: oriel-portrait pipe");
}

}  // namespace oriel::portrait
