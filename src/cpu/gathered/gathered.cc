#include "cpu/gathered/gathered.h"

#include <cmath>

#include "cpu/gathered/families.h"
#include "statistic_rules.h"

namespace oriel::cpu {

void run_gathered(const Statistic& job, int threads) {
  using detail::Family;
  switch (detail::family_of(job.problem.pool.op)) {
    case Family::extremum:
    case Family::count:
    case Family::pick:
      return run_gathered_extremum(job, threads);
    case Family::sum:
      return run_gathered_sum(job, threads);
    case Family::rank:
      return run_gathered_rank(job, threads);
    case Family::vote:
      return run_gathered_vote(job, threads);
    case Family::moment:
      return run_gathered_moment(job, threads);
  }
}

index_t find_bad_weight(const ConstTensor& weights, const Pool& pool) {
  const detail::Family family = detail::family_of(pool.op);
  const bool signless = family == detail::Family::rank || family == detail::Family::vote;
  const index_t count = element_count(weights.shape);
  Extents at = Extents::filled(weights.rank(), 0);
  index_t offset = 0;
  for (index_t number = 0; number < count; ++number) {
    const double w = weights.dtype == Dtype::f32 ? static_cast<double>(static_cast<const float*>(weights.data)[offset])
                                                 : static_cast<const double*>(weights.data)[offset];
    if (!std::isfinite(w) || (signless && w < 0)) return number;
    for (int d = weights.rank() - 1; d >= 0; --d) {
      offset += weights.pitch[d];
      if (++at[d] < weights.shape[d]) break;
      offset -= weights.pitch[d] * weights.shape[d];
      at[d] = 0;
    }
  }
  return -1;
}

}  // namespace oriel::cpu
