#include "cpu/moments/moments.h"

#include "cpu/moments/tile_folder.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {

bool can_moments(const Statistic& job) {
  return job.problem.pooled > 0 && job.problem.pool.footprint.empty() && job.index == nullptr && has_moment_rules(job);
}

void run_moments(const Statistic& job, int threads) {
  const Grid grid(job);
  const MomentRules rules = moment_rules(job, grid.row < 0 || grid.row == grid.pooled.size() - 1);
  index_t state_bytes = 0;
  for (int g = 0; g < rules.lift.groups; ++g) {
    const Join join = rules.lift.group[static_cast<std::size_t>(g)].join;
    state_bytes += fields_of(join) * bytes_of(join);
  }
  const Tiles tiles(grid, state_bytes);
  const index_t bytes = element_count(job.y.shape) / tiles.count() * 64;  // tens of operations for each result
  parallel_for(tiles.count(), bytes, threads, [&](index_t begin, index_t end) {
    TileFolder folder(job, grid, rules, tiles);
    folder.run(begin, end);
  });
}

}  // namespace oriel::cpu
