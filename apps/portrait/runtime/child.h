// Another process that is run to its end.
#pragma once

#include <string>
#include <vector>

namespace oriel::portrait {

/// How it ended.
struct Ended {
  int code = -1;       ///< its exit code; -1: a signal ended it
  int signal = 0;      ///< that ended it
  std::string errors;  ///< what it wrote to standard error, at most 64 kB
};

/// Runs `command`, whose first word is looked for along PATH, without input and output. Throws Error when it cannot be
/// started.
Ended run_child(std::vector<std::string> command);

}  // namespace oriel::portrait
