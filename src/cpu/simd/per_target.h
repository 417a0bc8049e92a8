// Tables of kernels, one for each instruction set that this machine runs. Every wing owns its tables.
#pragma once

#include <initializer_list>
#include <vector>

#include "cpu/simd/targets.h"

namespace oriel::cpu {

/// The tables of one wing: every instruction set's is filled by functions that take theirs, number `which`, from
/// Highway's dispatch tables.
template <class Table>
class PerTarget {
 public:
  using Fill = void (*)(Table& table, std::size_t which);

  PerTarget(std::initializer_list<Fill> fills) {
    for (const std::size_t which : dispatch_numbers()) {
      Table& table = tables_.emplace_back();
      for (const Fill fill : fills) fill(table, which);
    }
  }

  /// That of the instruction set in use.
  const Table& active() const { return tables_[active_number()]; }

 private:
  std::vector<Table> tables_;
};

}  // namespace oriel::cpu
