#include "cpu/valid_blocks/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "statistic_rules.h"

namespace oriel::cpu {

index_t enough_of(const Pool& pool, index_t has) {
  const double share = std::ceil(pool.min_fraction * static_cast<double>(has));
  return std::max({pool.min_count, detail::needed_taps(pool), static_cast<index_t>(share)});
}

void store_fill(const Problem& problem, void* to) {
  const Pool& pool = problem.pool;
  std::memset(to, 0, 8);
  if (pool.fill)
    detail::store(*pool.fill, problem.result, to);
  else if (pool.nodata && detail::is_representable(*pool.nodata, problem.result))
    detail::store(*pool.nodata, problem.result, to);
  else if (is_floating(problem.result))
    detail::store(std::numeric_limits<double>::quiet_NaN(), problem.result, to);
}

}  // namespace oriel::cpu
