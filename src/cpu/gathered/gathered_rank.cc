// Medians, quantiles and ranks (S16).
#include "cpu/gathered/families.h"
#include "cpu/gathered/results.h"
#include "cpu/gathered/sorted_taps.h"

namespace oriel::cpu {
namespace {

template <class T>
class RankWorker {
 public:
  RankWorker(const Statistic& job, const Results& results, Arena& arena)
      : pool_(job.problem.pool),
        results_(results),
        indexed_(job.index != nullptr),
        order_(arena.take_array<index_t>(most_cells(job.problem))),
        values_(arena.take_array<T>(most_cells(job.problem))) {}

  void operator()(const ValidTaps<T>& taps, ResultPlace place) {
    const index_t quantiles = detail::quantile_count(pool_);
    if (taps.last_nan() >= 0) {
      for (index_t k = 0; k < quantiles; ++k) put_tap(taps, results_.of_quantile(place, k), taps.last_nan());
      return;
    }
    if (!indexed_ && taps.weights() == nullptr && quantiles == 1) return select(taps, place);
    for (index_t i = 0; i < taps.size(); ++i) order_[i] = i;
    const T* v = taps.values();
    std::sort(order_, order_ + taps.size(),
              [&](index_t a, index_t b) { return comes_before(v[a], v[b]) || (!comes_before(v[b], v[a]) && a < b); });
    for (index_t k = 0; k < quantiles; ++k) put_quantile(taps, results_.of_quantile(place, k), k);
  }

 private:
  // One quantile whose index nobody asks for: only the taps beside it are put in their places.
  void select(const ValidTaps<T>& taps, ResultPlace place) {
    const index_t n = taps.size();
    std::copy_n(taps.values(), n, values_);
    QuantilePlace at{0, 0, 0};
    if (pool_.rank)
      at.low = *pool_.rank < 0 ? n + *pool_.rank : *pool_.rank;
    else
      at = place_of_quantile(pool_.method, pool_.op == Op::median ? 0.5 : pool_.q[0], n);
    std::nth_element(values_, values_ + at.low, values_ + n, comes_before<T>);
    const T low = values_[at.low];
    if (at.high <= at.low || (pool_.method == Quantile::linear && at.share == 0))
      return results_.put_element(place, low);
    put_between(low, *std::min_element(values_ + at.high, values_ + n, comes_before<T>), at.share, place);
  }

  void put_tap(const ValidTaps<T>& taps, ResultPlace place, index_t i) const {
    results_.put_element(place, taps.values()[i]);
    results_.put_index(place, taps.box(), taps.output(), taps.cells()[i]);
  }

  // The first of the taps with the bits of the sorted one.
  void put_sorted(const ValidTaps<T>& taps, ResultPlace place, index_t sorted) const {
    const T* v = taps.values();
    while (sorted > 0 && !comes_before(v[order_[sorted - 1]], v[order_[sorted]])) --sorted;
    put_tap(taps, place, order_[sorted]);
  }

  void put_quantile(const ValidTaps<T>& taps, ResultPlace place, index_t k) const {
    if (pool_.rank) return put_sorted(taps, place, *pool_.rank < 0 ? taps.size() + *pool_.rank : *pool_.rank);
    const double q = pool_.op == Op::median ? 0.5 : pool_.q[static_cast<std::size_t>(k)];
    if (taps.weights() != nullptr) return put_sorted(taps, place, weighted_place(taps, q));
    const QuantilePlace at = place_of_quantile(pool_.method, q, taps.size());
    if (at.low == at.high || (pool_.method == Quantile::linear && at.share == 0))
      return put_sorted(taps, place, at.low);
    put_between(taps.values()[order_[at.low]], taps.values()[order_[at.high]], at.share, place);
  }

  // The first sorted tap up to which the weights reach q times their sum.
  index_t weighted_place(const ValidTaps<T>& taps, double q) const {
    double all = 0, sum = 0;
    for (index_t i = 0; i < taps.size(); ++i) all += taps.weights()[order_[i]];
    for (index_t i = 0; i < taps.size(); ++i) {
      sum += taps.weights()[order_[i]];
      if (sum >= q * all) return i;
    }
    return taps.size() - 1;
  }

  void put_between(T low, T high, double share, ResultPlace place) const {
    const bool middle = pool_.method == Quantile::midpoint;
    if (results_.dtype() == dtype_v<T>) return results_.put_element(place, between_taps(low, high, share, middle));
    if constexpr (is_floating_v<T>) {
      const auto a = static_cast<double>(number_of(low)), b = static_cast<double>(number_of(high)), sum = a + b;
      if (a == b && std::isinf(a)) return results_.put_element(place, low);
      if (middle) return results_.put(place, std::isinf(sum) ? a / 2 + b / 2 : sum / 2);
      results_.put(place, a + (b - a) * share);
    } else {
      if (middle) return results_.put_quotient(place, wide_int{number_of(low)} + number_of(high), 2);
      if constexpr (sizeof(T) <= 4)
        return results_.put(
            place, static_cast<double>(number_of(low)) + static_cast<double>(number_of(high) - number_of(low)) * share);
      const auto [n, rest] = whole_between(low, high, share);
      results_.put(place, static_cast<double>(n) + std::ldexp(static_cast<double>(rest), -kShareBits));
    }
  }

  const Pool& pool_;
  const Results& results_;
  const bool indexed_;
  index_t* order_;  // the taps, sorted
  T* values_;
};

}  // namespace

void run_gathered_rank(const Statistic& job, int threads) {
  visit(job.problem.dtype, [&]<class T>() { each_window<T, RankWorker<T>>(job, threads); });
}

}  // namespace oriel::cpu
