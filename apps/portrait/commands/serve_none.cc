// A build without Boost.
#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

int run_serve(ServeCommand) {  // NOLINT(performance-unnecessary-value-param): as the one that serves
  throw Error("serve: this build has no web server, Boost's headers were missing; allowed: image, folder, pipe, video");
}

}  // namespace oriel::portrait
