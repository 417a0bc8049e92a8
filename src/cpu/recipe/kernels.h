// The kernels of recipes: elements become lanes, lanes are folded, folded ones become elements.
// A row is contiguous elements of one lane type; lanes are independent outputs, so no kernel reduces across them.
#pragma once

#include "cpu/element/kinds.h"
#include "oriel/problem.h"
#include "oriel/types.h"
#include "reduction.h"

namespace oriel::cpu {

/// The kernels of one instruction set.
struct KernelTable {
  FoldKernels (*extremum)(Op op, Lane lane) = nullptr;  // max and min
  FoldKernels (*sum)(Lane lane) = nullptr;              // i32, i64, f32, f64
  FoldKernels (*missing_sum)(Lane lane) = nullptr;      // f32, f64: the extra values (i32, i64) are summed as well
  FoldKernels (*arg_max)(Lane lane) = nullptr;          // i32, i64, f32, f64: the extra values are codes (S3, S4)
  LiftRow (*lift)(Lift lift, Dtype from, Lane to) = nullptr;
  LowerRow (*lower)(Lower lower, Lane from, Dtype to) = nullptr;
  ScanRow (*scan)(Dtype dtype) = nullptr;  // floating dtypes
};

/// The table of the instruction set in use.
const KernelTable& kernels();

// The parts of the table, each in its own file; `which` is an index into Highway's dispatch tables.
void fill_extremum(KernelTable& table, std::size_t which);
void fill_sum(KernelTable& table, std::size_t which);
void fill_arg(KernelTable& table, std::size_t which);
void fill_convert(KernelTable& table, std::size_t which);
void fill_lower(KernelTable& table, std::size_t which);

}  // namespace oriel::cpu
