// Folds of elements where they lie: lifted and folded in one step.
#pragma once

#include "cpu/element/kinds.h"
#include "cpu/runtime/arena.h"
#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

/// Folds count <= kMaxFold rows of n elements of a tensor into accumulators. True when one of the last `watched` rows
/// holds a NaN or a negative zero, where those matter; more rows may be watched than asked.
using FoldElements = bool (*)(const void* const* rows, int count, int watched, index_t n, void* out);
/// Fewer lanes are shorter than a vector of bytes.
inline constexpr index_t kFewestStepLanes = 16;
/// Windows along a row whose taps are runs of lanes. All distances are in accumulators.
struct StepShape {
  index_t apart = 1;  // from a tap to the next
  index_t step = 1;   // from a window to the next
  index_t n = 1;      // windows
  index_t lanes = 1;
  index_t out_pitch = 1;  // from an output's lanes to the next one's
};
/// out[o * out_pitch + l] = the fold of row[o * step + t * apart + l] over t < count <= kMaxFold. There are
/// kFewestStepLanes or more.
using FoldSteps = void (*)(const void* row, int count, const StepShape& shape, void* out);

/// The same of elements of a tensor, lifted; `step`, `apart` and `lanes` are in elements. True when any of them is a
/// NaN or a negative zero, where those matter.
using FoldElementSteps = bool (*)(const void* row, int count, const StepShape& shape, void* out);

struct ElementKernels {
  FoldElements fold_elements = nullptr;  // null: there are none
  FoldElementSteps fold_element_steps = nullptr;
  FoldSteps fold_steps = nullptr;
};

struct ElementTable {
  ElementKernels (*extremum)(Op op, Dtype dtype) = nullptr;          // max and min
  ElementKernels (*sum)(Lift lift, Dtype dtype, Lane to) = nullptr;  // into f32, f64, i32, i64
};

/// The table of the instruction set in use.
const ElementTable& element_table();

/// The element kernels of a problem's plain recipe; with a null fold_elements where there are none.
ElementKernels element_kernels(const Problem& problem, const RowReduction& plain);

/// A row of `n` elements that change nothing in a fold of the problem.
std::byte* make_identity(const Problem& problem, index_t n, Arena& arena);

void fill_extremum_elements(ElementTable& table, std::size_t which);
void fill_sum_elements(ElementTable& table, std::size_t which);

}  // namespace oriel::cpu
