#include "cpu/soft/soft.h"

#include "cpu/runtime/parallel.h"
#include "cpu/soft/soft_folder.h"

namespace oriel::cpu {

bool can_soft(const Statistic& job) {
  const Problem& problem = job.problem;
  if ((problem.pool.op != Op::lse && problem.pool.op != Op::soft) || problem.pooled == 0) return false;
  if (!problem.pool.footprint.empty() || job.index != nullptr || problem.taps() > (index_t{1} << 30)) return false;
  const Grid grid(job);
  return grid.row < 0 || !grid.pooled[static_cast<std::size_t>(grid.row)].axis.adaptive;
}

void run_soft(const Statistic& job, int threads) {
  const Grid grid(job);
  const MomentRules rules = exponential_rules(job);
  const Tiles tiles(grid, 12);
  const index_t bytes = element_count(job.y.shape) / tiles.count() * job.problem.taps() * 16;
  parallel_for(tiles.count(), bytes, threads, [&](index_t begin, index_t end) {
    SoftFolder folder(job, grid, rules, tiles);
    folder.run(begin, end);
  });
}

}  // namespace oriel::cpu
