// What `oriel pyramid` says when it is done.
#pragma once

#include "cli/options.h"
#include "cli/progress.h"
#include "io/ome/multiscales.h"
#include "oriel/pyramid.h"

namespace oriel::cli {

struct PyramidMade {
  const PyramidCommand& command;
  const PyramidPlan& plan;
  const io::ome::Multiscales& image;
  PyramidReport made;  ///< of all ranks: sums, but of memory the most
  int ranks = 1;
  index_t peak = 0;           ///< bytes that a process held at the most
  double build = 0, all = 0;  ///< seconds
};

/// As JSON or in a sentence, unless --quiet.
void say(Progress& progress, const PyramidMade& what);

}  // namespace oriel::cli
