// What `oriel pool` says when it is done.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "cli/progress.h"
#include "io/array.h"

namespace oriel::cli {

/// Seconds that the steps took, and the whole call.
struct PoolSeconds {
  double read = 0, pool = 0, write = 0, all = 0;
};

/// How a call went that was made block by block.
struct BlocksReport {
  int ranks = 1;
  index_t blocks = 0, memory = 0;
  std::optional<index_t> chunks, chunk_reads;  ///< of an input that is made of chunks
};

/// What was done.
struct PoolReport {
  const PoolCommand& command;
  const Problem& problem;
  std::string part;                    ///< what was read of IN
  std::optional<io::Picture> picture;  ///< if IN is one
  int threads = 1;
  PoolSeconds seconds;
  std::optional<BlocksReport> blocks{};  ///< if it was made so
};

/// Says it as --json and --quiet ask; if OUT is standard output, no more than a note on standard error.
void say(Progress& progress, const PoolReport& report);

}  // namespace oriel::cli
