// The ways that a fold can be carried out: one table, of which the first row that takes a fold does it.
#pragma once

#include <span>
#include <string_view>

#include "cpu/row_fold.h"

namespace oriel::cpu {

/// Every way gives the bits of the last one, which takes everything; it is there only because it is quicker.
struct Way {
  std::string_view name;
  bool (*takes)(const FoldJob& job);
  void (*run)(const FoldJob& job, int threads);
  std::string_view why;  // what was measured, and so where the way begins and ends
};

std::span<const Way> ways();
const Way& way_of(const FoldJob& job);

}  // namespace oriel::cpu
