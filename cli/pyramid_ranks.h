// `oriel pyramid` by one process or by ranks.
#pragma once

#include "cli/options.h"
#include "cli/team.h"

namespace oriel::cli {

/// Every rank of the team calls it.
int run_pyramid_by(const PyramidCommand& command, Team& team);

}  // namespace oriel::cli
