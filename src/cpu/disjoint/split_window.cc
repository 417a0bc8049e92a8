#include "cpu/disjoint/split_window.h"

#include <atomic>

#include "cpu/disjoint/tree.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/plan/counts.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kChunk = 2 * 1024;  // taps; a chunk of accumulators and its columns stay in the first cache
constexpr index_t kFewestTaps = 2 * kChunk;
constexpr index_t kManyTaps = index_t{1} << 18;  // so many are work for several threads, however many windows there are
constexpr index_t kFewWindows = 2;

// The folds of all units of one window, and the taps that are left as accumulators.
struct Window {
  const FoldJob& job;
  const ElementKernels kernels;
  const std::byte* x;
  index_t width;
  std::byte* units;
  std::atomic<bool> special{false};

  void fold_chunks(index_t begin, index_t end) {
    Arena arena;
    const index_t bytes = job.plain.value_bytes;
    std::byte* row = arena.take(kChunk * bytes + 128);
    RowTree tree(job.plain, kChunk, arena);
    bool found = false;
    for (index_t c = begin; c < end; ++c) {
      const index_t first = c * kChunk, n = std::min(kChunk, width - first) / RowTree::kUnit * RowTree::kUnit;
      found |= lift(first, n, row);
      tree.fold_units(row, n / RowTree::kUnit, units + first / RowTree::kUnit * bytes);
    }
    if (found) special = true;
  }

  bool lift(index_t first, index_t n, std::byte* out) const {
    const StepShape shape = {0, 0, 1, n, n};
    return n > 0 && kernels.fold_element_steps(x + first * job.plain.in_bytes, 1, shape, out);
  }
};

}  // namespace

bool can_chunks(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.pooled() != 1 || layout.row_axis != 0) return false;
  const PooledAxis& along = layout.axis[0];
  const Axis& axis = along.axis;
  if (layout.lanes.n != 1 || along.pitch[kX] != 1 || axis.spacing != 1 || axis.dilation != 1) return false;
  const bool apart = axis.adaptive || (axis.stride >= axis.kernel && axis.full() == Range{0, axis.out});
  return apart && element_kernels(*job.problem, job.plain).fold_elements != nullptr;
}

bool chunks_pay(const FoldJob& job) {
  const Axis& axis = job.layout.axis[0].axis;
  const index_t least = job.layout.plane_count() * axis.out <= kFewWindows ? kFewestTaps : kManyTaps;
  return (axis.adaptive ? axis.in / axis.out : axis.kernel) >= least;
}

void run_chunks(const FoldJob& job, int threads) {
  Arena arena;
  const PooledAxis& along = job.layout.axis[0];
  const RowReduction& how = job.plain;
  const index_t units = along.axis.kernel / RowTree::kUnit;
  std::byte* const folded = arena.take((units + 1) * how.value_bytes);
  std::byte* const rest = arena.take(RowTree::kUnit * how.value_bytes + 64);
  std::byte* const result = arena.take(64);
  RowTree tree(how, units + 1, arena);
  CarefulRows careful(job);
  for (index_t p = 0; p < job.layout.plane_count(); ++p) {
    bool special = false;
    for (index_t o = 0; o < along.axis.out && !special; ++o) {
      const auto* x =
          static_cast<const std::byte*>(job.x) + (job.layout.plane_offset(p, kX) + along.axis.start(o)) * how.in_bytes;
      Window window{job, element_kernels(*job.problem, how), x, along.axis.width(o), folded};
      const index_t count = window.width / RowTree::kUnit, left = window.width % RowTree::kUnit;
      parallel_for((window.width + kChunk - 1) / kChunk, kChunk * how.in_bytes, threads,
                   [&](index_t begin, index_t end) { window.fold_chunks(begin, end); });
      special = window.lift(count * RowTree::kUnit, left, rest) || window.special;
      if (special) break;
      tree.join(folded, count, rest, left, result);
      auto* y = static_cast<std::byte*>(job.y) + (job.layout.plane_offset(p, kY) + o * along.pitch[kY]) * how.out_bytes;
      const RowRun run = {0, 1, along.axis.divisor(o, how.count_include_pad), window.width};
      const LowerRow lower = how.lower != nullptr ? how.lower : how.store;
      lower({result, nullptr, 0}, 1, 1, params_of(how, &run, 1), y, 1, 1);
    }
    if (special) careful.fold(p, {0, 1});
  }
}

}  // namespace oriel::cpu
