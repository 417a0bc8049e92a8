// The vector kernels of the CPU backend, as one table of function pointers per instruction set.
// A row is contiguous elements of one lane type; lanes are independent outputs, so no kernel reduces across them.
#pragma once

#include "cpu/disjoint/global_kernels.h"
#include "cpu/argmax/argmax_kernels.h"
#include "oriel/problem.h"
#include "oriel/reduce.h"
#include "oriel/types.h"

namespace oriel::cpu {

struct ShareKernels;

// Types that the fold kernels work in. Element types map onto them: f16 and bf16 extrema as ordered i16 keys, bool as
// u8.
enum class Lane : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };
index_t size_bytes(Lane lane);

// What becomes of an element before the fold.
enum class Lift : std::uint8_t {
  none,   // rows are folded where they lie
  copy,   // only gathered: the element type is the lane type
  key,    // f16, bf16 -> i16 in the same order
  widen,  // to the accumulator
  absolute,
  square,
  power,
  arg_max,      // to an ordered lane, and code 0
  arg_min,      // the same with the order reversed
  arg_absolute  // |x| to an ordered lane, and code 0
};

// What becomes of a folded row.
enum class Lower : std::uint8_t {
  none,  // the last fold writes the result itself
  copy,
  key,
  round,       // accumulator -> element type, rounded once; a window without a tap gives 0
  average,     // divided, then rounded once
  root,        // Lp
  floor_zero,  // Lp with p = inf: a window without a tap gives 0
  arg_max,
  arg_min,
  arg_absolute,
  gradient  // + 0.0, rounded once
};

/// Lanes of code for tap codes: absent candidates carry kAbsent or more, and lose every tie.
template <class Code>
inline constexpr Code kAbsent = static_cast<Code>(Code{1} << (8 * sizeof(Code) - 2));

/// to[i] = from[i * step] for n groups of `bytes` bytes each, any number of them and any step >= 1. Reads nothing
/// beyond the last group and writes exactly n groups.
using PickGroups = void (*)(const void* from, index_t step, index_t n, index_t bytes, void* to);

struct LongKernels;  // long_kernels.h

// Everything that is compiled once per instruction set.
struct KernelTable {
  const char* target = nullptr;
  FoldKernels (*extremum)(Op op, Lane lane) = nullptr;  // max and min
  FoldKernels (*sum)(Lane lane) = nullptr;              // i32, i64, f32, f64
  FoldKernels (*missing_sum)(Lane lane) = nullptr;      // f32, f64: the extra values (i32, i64) are summed as well
  FoldKernels (*arg_max)(Lane lane) = nullptr;          // i32, i64, f32, f64: the extra values are codes (S3, S4)
  LiftRow (*lift)(Lift lift, Dtype from, Lane to) = nullptr;
  LowerRow (*lower)(Lower lower, Lane from, Dtype to) = nullptr;
  ScanRow (*scan)(Dtype dtype) = nullptr;  // floating dtypes
  PickGroups pick_groups = nullptr;
  ShareKernels (*shares)(Lane lane) = nullptr;                       // i64, f32, f64
  PlaceKernels (*places)(Op op, Dtype dtype, bool exact) = nullptr;  // max and min; exact: of NaN and zeros too
  GatherKernels (*gather)(Lane lane) = nullptr;                      // f32, f64
  LongKernels (*long_extremum)(Op op, Lane lane) = nullptr;  // null members where windows go through the folds above
  LongKernels (*long_sum)(Lane lane) = nullptr;
  GlobalKernel (*global)(Op op, Dtype dtype) = nullptr;
};

/// The table of the instruction set in use.
const KernelTable& kernels();

// The parts of the table, each in its own file; `which` is an index into Highway's dispatch tables.
void fill_extremum(KernelTable& table, std::size_t which);
void fill_sum(KernelTable& table, std::size_t which);
void fill_arg(KernelTable& table, std::size_t which);
void fill_convert(KernelTable& table, std::size_t which);
void fill_lower(KernelTable& table, std::size_t which);
void fill_pick(KernelTable& table, std::size_t which);
void fill_shares(KernelTable& table, std::size_t which);
void fill_places(KernelTable& table, std::size_t which);
void fill_gather(KernelTable& table, std::size_t which);
void fill_long_extremum(KernelTable& table, std::size_t which);
void fill_long_sum(KernelTable& table, std::size_t which);
void fill_global(KernelTable& table, std::size_t which);

}  // namespace oriel::cpu
