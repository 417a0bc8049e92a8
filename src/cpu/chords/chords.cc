#include "cpu/chords/chords.h"

#include <algorithm>

#include "cpu/chords/chord_folder.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Whether some tap of every window exists: one of the taps that exist for all outputs.
bool never_empty(const Problem& problem) {
  const std::vector<std::uint8_t>& footprint = problem.pool.footprint.taps;
  index_t taps = 1;
  for (int a = 0; a < problem.pooled; ++a) taps *= problem.axis[at(a)].kernel;
  for (index_t t = 0; t < taps; ++t) {
    if (!footprint.empty() && footprint[at(t)] == 0) continue;
    index_t rest = t;
    bool always_there = true;
    for (int a = problem.pooled - 1; a >= 0; --a) {
      const Axis& axis = problem.axis[at(a)];
      const index_t tap = rest % axis.kernel;
      rest /= axis.kernel;
      always_there =
          always_there && axis.input_at(axis.at(0, tap)) >= 0 && axis.input_at(axis.at(axis.out - 1, tap)) >= 0;
    }
    if (always_there) return true;
  }
  return false;
}

}  // namespace

bool can_chords(const Statistic& job) {
  const Problem& problem = job.problem;
  const Pool& pool = problem.pool;
  if (pool.op != Op::max && pool.op != Op::min && pool.op != Op::range) return false;
  if (!job.plain() || job.omits() || problem.result != problem.dtype || !TapPlan::can(job)) return false;
  if (pool.min_count > 1 || pool.min_fraction > 0 || problem.pooled == 0) return false;
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[at(a)];
    if (axis.stride != 1 || axis.dilation != 1) return false;
  }
  return (pool.op != Op::range && pool.min_count == 0) || never_empty(problem);
}

void run_chords(const Statistic& job, int threads) {
  const ChordPlan plan(job, threads > 0 ? threads : default_threads());
  parallel_for(plan.tasks(), plan.task_bytes(), threads, [&](index_t begin, index_t end) {
    Arena arena;
    ChordFolder folder(plan, arena);
    for (index_t task = begin; task < end; ++task) folder.fold(task);
  });
}

}  // namespace oriel::cpu
