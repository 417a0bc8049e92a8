#include "cpu/order/windows.h"

#include <algorithm>
#include <cstdlib>

#include "cpu/gathered/sorted_taps.h"
#include "statistic_rules.h"

namespace oriel::cpu {

std::optional<RankLayout> rank_layout(const Statistic& job) {
  const Problem& problem = job.problem;
  const int lead = job.y.rank() - job.x.rank();
  std::vector<RankAxis> pooled;
  std::vector<bool> is_pooled(static_cast<std::size_t>(problem.shape.size()), false);
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[static_cast<std::size_t>(a)];
    const int d = problem.axes[static_cast<std::size_t>(a)];
    if (axis.adaptive || axis.spacing != 1) return std::nullopt;
    is_pooled[static_cast<std::size_t>(d)] = true;
    pooled.push_back({axis, job.x.pitch[d], job.y.pitch[d + lead], a});
  }
  std::stable_sort(pooled.begin(), pooled.end(), [](const RankAxis& a, const RankAxis& b) {
    const bool a_single = a.axis.out == 1, b_single = b.axis.out == 1;  // no lanes along these
    return a_single != b_single ? b_single : std::abs(a.x) < std::abs(b.x);
  });
  if (pooled.size() > 3) return std::nullopt;
  RankLayout layout;
  layout.along = pooled[0];
  if (pooled.size() > 1) layout.down = pooled[1];
  if (pooled.size() > 2) layout.deep = pooled[2];
  for (int d = 0; d < problem.shape.size(); ++d) {
    if (is_pooled[static_cast<std::size_t>(d)]) continue;
    const RankLoop loop{problem.shape[d], job.x.pitch[d], job.y.pitch[d + lead], d};
    layout.plane_count *= loop.n;
    layout.planes[static_cast<std::size_t>(layout.plane_dims++)] = loop;
  }
  // The innermost of the other dimensions may lie inside rows, as channels do.
  for (int i = 0; i < layout.plane_dims; ++i) {
    RankLoop& loop = layout.planes[static_cast<std::size_t>(i)];
    if (loop.x != 1 || loop.n == 1 || std::abs(layout.along.x) < loop.n) continue;
    layout.lanes = loop;
    layout.plane_count /= loop.n;
    std::swap(loop, layout.planes[static_cast<std::size_t>(--layout.plane_dims)]);
    break;
  }
  return layout;
}

std::vector<index_t> ranks_of(const Pool& pool, index_t n) {
  if (pool.op == Op::max) return {n - 1};
  if (pool.op == Op::min) return {0};
  std::vector<index_t> ranks;
  if (pool.rank) ranks.push_back(*pool.rank < 0 ? n + *pool.rank : *pool.rank);
  const index_t quantiles = pool.rank ? 0 : detail::quantile_count(pool);
  for (index_t k = 0; k < quantiles; ++k) {
    const double q = pool.op == Op::median ? 0.5 : pool.q[static_cast<std::size_t>(k)];
    const QuantilePlace place = place_of_quantile(pool.method, q, n);
    ranks.push_back(place.low);
    ranks.push_back(place.high);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace oriel::cpu
