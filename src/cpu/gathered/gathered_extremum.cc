// Maxima, minima, their distance and middle, taps that are picked, and taps that are counted (S3, S4, S6, S19).
#include "cpu/gathered/families.h"
#include "cpu/gathered/results.h"

namespace oriel::cpu {
namespace {

template <class T>
class ExtremumWorker {
 public:
  ExtremumWorker(const Statistic& job, const Results& results, Arena&) : problem_(job.problem), results_(results) {}

  void operator()(const ValidTaps<T>& taps, ResultPlace place) const {
    switch (problem_.pool.op) {
      case Op::max:
      case Op::min:
        return put_extremum(taps, place, problem_.pool.op == Op::max);
      case Op::range:
      case Op::midrange:
        return put_distance(taps, place);
      case Op::first:
        return put_tap(taps, place, 0);
      case Op::centre:
        return put_centre(taps, place);
      case Op::count:
        return results_.put(place, wide_int{taps.size()});
      default:
        return put_truth(taps, place);
    }
  }

 private:
  void put_tap(const ValidTaps<T>& taps, ResultPlace place, index_t i) const {
    results_.put_element(place, taps.values()[i]);
    results_.put_index(place, taps.box(), taps.output(), taps.cells()[i]);
  }

  // The first of the largest or smallest taps.
  static index_t extremum_of(const ValidTaps<T>& taps, bool largest) {
    if (taps.last_nan() >= 0) return taps.last_nan();
    const T* v = taps.values();
    index_t best = 0;
    for (index_t i = 1; i < taps.size(); ++i) {
      const bool better = largest ? number_of(v[i]) > number_of(v[best]) : number_of(v[i]) < number_of(v[best]);
      if (better) best = i;
    }
    return best;
  }

  void put_extremum(const ValidTaps<T>& taps, ResultPlace place, bool largest) const {
    if (taps.size() > 0) return put_tap(taps, place, extremum_of(taps, largest));
    results_.put_element(place, largest ? lowest_value<T>() : highest_value<T>());
    results_.put_index(place, taps.box(), taps.output(), -1);
  }

  void put_distance(const ValidTaps<T>& taps, ResultPlace place) const {
    const T high = taps.values()[extremum_of(taps, true)], low = taps.values()[extremum_of(taps, false)];
    const bool range = problem_.pool.op == Op::range;
    if constexpr (is_floating_v<T>) {
      const auto a = static_cast<double>(high), b = static_cast<double>(low);
      results_.put(place, range ? a - b : (a + b) / 2);
    } else {
      const wide_int a = number_of(high), b = number_of(low);
      if (range)
        results_.put(place, a - b);
      else
        results_.put_quotient(place, a + b, 2);
    }
  }

  void put_centre(const ValidTaps<T>& taps, ResultPlace place) const {
    const TapBox& box = taps.box();
    index_t cell = 0;
    for (int a = 0; a < box.axes; ++a) {
      const auto i = static_cast<std::size_t>(a);
      const index_t tap = (box.width[i] - 1) / 2;
      if (!box.taps[i].contains(tap)) cell = -1;
      if (cell < 0) break;
      cell = cell * box.taps[i].size() + tap - box.taps[i].begin;
    }
    const index_t* const end = taps.cells() + taps.size();
    const index_t* const found = cell < 0 ? end : std::lower_bound(taps.cells(), end, cell);
    if (found != end && *found == cell) return put_tap(taps, place, found - taps.cells());
    results_.put_fill(place);
    results_.put_index(place, box, taps.output(), -1);
  }

  void put_truth(const ValidTaps<T>& taps, ResultPlace place) const {
    const T* v = taps.values();
    const auto is_true = [](T x) { return number_of(x) != 0; };  // a NaN is true
    const bool truth = problem_.pool.op == Op::any ? std::any_of(v, v + taps.size(), is_true)
                                                   : std::all_of(v, v + taps.size(), is_true);
    results_.put(place, wide_int{truth ? 1 : 0});
  }

  const Problem& problem_;
  const Results& results_;
};

}  // namespace

void run_gathered_extremum(const Statistic& job, int threads) {
  visit(job.problem.dtype, [&]<class T>() { each_window<T, ExtremumWorker<T>>(job, threads); });
}

}  // namespace oriel::cpu
