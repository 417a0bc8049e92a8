// The contract between a way to carry out a job and everything else.
#pragma once

#include <string_view>

namespace oriel::cpu {

/// One row of a table of strategies.
template <class Job>
struct Strategy {
  std::string_view name;         // as `oriel explain` and ORIEL_STRATEGY say it
  bool (*can)(const Job& job);   // whether it gives the bits of the table's last row: legality alone
  bool (*pays)(const Job& job);  // whether it is quicker than the rows below; only asked if it can
  void (*run)(const Job& job, int threads);
  std::string_view when;  // one line: when it is taken, and what was measured
};

template <class Job>
bool always(const Job&) {
  return true;
}

}  // namespace oriel::cpu
