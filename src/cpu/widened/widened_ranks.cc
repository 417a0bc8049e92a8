#include "cpu/widened/widened_ranks.h"

#include <algorithm>
#include <vector>

#include "cpu/gathered/gathered.h"
#include "cpu/gathered/part.h"
#include "cpu/gathered/sorted_taps.h"
#include "cpu/histogram/histogram.h"
#include "cpu/order/rank_plan.h"
#include "cpu/rank/rank_rows.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBandBytes = index_t{1} << 22;  // of the integers of a band of outputs

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The same pool with a result of x's dtype that is an element.
Problem narrow(const Problem& problem, Quantile method) {
  Problem made = problem;
  made.result = problem.dtype;
  made.pool.result_dtype.reset();
  made.pool.method = method;
  return made;
}

// Of footprints that is known of whole windows only.
bool every_window_has_taps(const Problem& problem) {
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[at(a)];
    if (!problem.pool.footprint.empty() && axis.full().size() < axis.out) return false;
    for (index_t o = 0; o < axis.out; ++o)
      if (axis.taps(o).empty()) return false;
  }
  return true;
}

bool selects_one(Quantile method) { return method != Quantile::midpoint && method != Quantile::linear; }

// Whether no result of a midpoint lies between two taps.
bool is_one_everywhere(const Problem& problem) {
  const Pool& pool = problem.pool;
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[at(a)];
    if (axis.full().size() < axis.out) return false;
  }
  const QuantilePlace place =
      place_of_quantile(pool.method, pool.op == Op::median ? 0.5 : pool.q[0], count_of_taps(problem));
  return place.low == place.high;
}

void run_narrow(const Statistic& job, int threads) {
  if (can_histogram(job) && histogram_pays(job)) return run_histogram(job, threads);
  run_rank_rows(job, threads);
}

// y = (low + high) / 2, both in scan order.
template <class T>
void put_means(const T* low, const T* high, const Tensor& y) {
  const int last = y.rank() - 1;
  const index_t n = y.shape[last], pitch = y.pitch[last], rows = element_count(y.shape) / n;
  Extents row = Extents::filled(y.rank(), 0);
  for (index_t r = 0; r < rows; ++r, low += n, high += n) {
    index_t offset = 0;
    for (int d = 0; d < last; ++d) offset += row[d] * y.pitch[d];
    double* const to = static_cast<double*>(y.data) + offset;
    for (index_t i = 0; i < n; ++i) {
      const auto sum = static_cast<std::int64_t>(number_of(low[i])) + static_cast<std::int64_t>(number_of(high[i]));
      to[i * pitch] = static_cast<double>(sum) / 2;
    }
    for (int d = last - 1; d >= 0 && ++row[d] == y.shape[d]; --d) row[d] = 0;
  }
}

void run_band(const Statistic& job, int threads) {
  const Dtype dtype = job.problem.dtype;
  const Quantile method = job.problem.pool.method;
  const bool between = !selects_one(method) && !is_one_everywhere(job.problem);
  const auto found = [&](Quantile which, std::vector<std::byte>& to) {
    to.resize(at(element_count(job.y.shape) * size_bytes(dtype)));
    const Problem problem = narrow(job.problem, which);
    run_narrow({.problem = problem, .x = job.x, .y = Tensor(to.data(), dtype, job.y.shape)}, threads);
  };
  std::vector<std::byte> low, high;
  found(selects_one(method) ? method : Quantile::lower, low);
  if (between) found(Quantile::higher, high);
  visit(dtype, [&]<class T>() {
    if constexpr (!is_floating_v<T> && sizeof(T) <= 4) {
      const auto* first = reinterpret_cast<const T*>(low.data());
      put_means(first, between ? reinterpret_cast<const T*>(high.data()) : first, job.y);
    }
  });
}

}  // namespace

bool can_widened_ranks(const Statistic& job) {
  const Problem& problem = job.problem;
  const Pool& pool = problem.pool;
  if ((pool.op != Op::median && pool.op != Op::quantile) || pool.rank || detail::quantile_count(pool) != 1)
    return false;
  if (is_floating(problem.dtype) || size_bytes(problem.dtype) > 4 || problem.result != Dtype::f64) return false;
  if (!job.plain() || job.index != nullptr || pool.min_count > 1 || pool.min_fraction > 0) return false;
  if (pool.method == Quantile::linear) return false;
  if (job.y.rank() != job.x.rank() || job.x.rank() == 0 || !every_window_has_taps(problem)) return false;
  const Problem element = narrow(problem, Quantile::lower);
  return can_rank_rows({.problem = element, .x = job.x, .y = Tensor(nullptr, element.dtype, job.y.shape)});
}

bool widened_ranks_pay(const Statistic& job) {
  const Problem element = narrow(job.problem, Quantile::lower);
  const Tensor y(nullptr, element.dtype, job.y.shape);
  return rank_rows_pays({.problem = element, .x = job.x, .y = y});
}

void run_widened_ranks(const Statistic& job, int threads) {
  OutputBox box;
  for (int d = 0; d < job.x.rank(); ++d) box[at(d)] = {0, job.y.shape[d]};
  const index_t row = std::max<index_t>(1, element_count(job.y.shape) / job.y.shape[0] * size_bytes(job.problem.dtype));
  const index_t band = std::max<index_t>(1, kBandBytes / row), all = job.y.shape[0];
  for (index_t begin = 0; begin < all; begin += band) {
    box[0] = {begin, std::min(begin + band, all)};
    run_part(job, box, [&](const Statistic& part) {  // a band of borders alone has no windows for networks
      can_widened_ranks(part) ? run_band(part, threads) : run_gathered(part, threads);
    });
  }
}

}  // namespace oriel::cpu
