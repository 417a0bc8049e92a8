// Modes and numbers of distinct values (S17).
#include "cpu/gathered/families.h"
#include "cpu/gathered/results.h"
#include "cpu/gathered/sorted_taps.h"

namespace oriel::cpu {
namespace {

template <class T>
class VoteWorker {
 public:
  VoteWorker(const Statistic& job, const Results& results, Arena& arena)
      : pool_(job.problem.pool), results_(results), order_(arena.take_array<index_t>(most_cells(job.problem))) {
    if (pool_.ignore) detail::store(*pool_.ignore, dtype_v<T>, &ignored_);
  }

  void operator()(const ValidTaps<T>& taps, ResultPlace place) {
    if (pool_.op == Op::mode && taps.last_nan() >= 0) return put_tap(taps, place, taps.last_nan());
    const T* v = taps.values();
    for (index_t i = 0; i < taps.size(); ++i) order_[i] = i;
    std::sort(order_, order_ + taps.size(), [&](index_t a, index_t b) {  // all NaN at the end
      const bool x = is_nan(v[a]), y = is_nan(v[b]);
      if (x || y) return x == y ? a < b : y;
      return number_of(v[a]) < number_of(v[b]) || (number_of(v[a]) == number_of(v[b]) && a < b);
    });
    if (pool_.op == Op::nunique) return put_distinct(taps, place);
    put_mode(taps, place);
  }

 private:
  static bool same(T a, T b) { return number_of(a) == number_of(b) || (is_nan(a) && is_nan(b)); }

  void put_tap(const ValidTaps<T>& taps, ResultPlace place, index_t i) const {
    T value = taps.values()[i];
    if constexpr (is_floating_v<T>) {
      if (number_of(value) == 0) value = T(0.0);
    }
    results_.put_element(place, value);
    results_.put_index(place, taps.box(), taps.output(), taps.cells()[i]);
  }

  void put_distinct(const ValidTaps<T>& taps, ResultPlace place) const {
    wide_int distinct = 0;
    for (index_t i = 0; i < taps.size(); ++i)
      if (i == 0 || !same(taps.values()[order_[i - 1]], taps.values()[order_[i]])) ++distinct;
    results_.put(place, distinct);
  }

  void put_mode(const ValidTaps<T>& taps, ResultPlace place) const {
    const T* v = taps.values();
    index_t best = -1, set_aside = -1;  // the first tap of a value
    double most = 0;
    for (index_t i = 0; i < taps.size();) {
      const index_t first = order_[i];
      double votes = 0;
      for (; i < taps.size() && same(v[order_[i]], v[first]); ++i)
        votes += taps.weights() != nullptr ? taps.weights()[order_[i]] : 1;
      if (pool_.ignore && same(v[first], ignored_)) {
        set_aside = first;
        continue;
      }
      const bool tie = best >= 0 && votes == most;
      const bool wins_tie = pool_.tie == Tie::highest || (pool_.tie == Tie::first && first < best);
      if (best >= 0 && !(votes > most) && !(tie && wins_tie)) continue;
      best = first;
      most = votes;
    }
    put_tap(taps, place, best >= 0 ? best : set_aside);
  }

  const Pool& pool_;
  const Results& results_;
  T ignored_{};
  index_t* order_;  // the taps, sorted; equal ones in scan order
};

}  // namespace

void run_gathered_vote(const Statistic& job, int threads) {
  visit(job.problem.dtype, [&]<class T>() { each_window<T, VoteWorker<T>>(job, threads); });
}

}  // namespace oriel::cpu
