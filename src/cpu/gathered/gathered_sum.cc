// Sums, averages and Lp norms (S5 to S8), weighted or not (S13).
#include <cmath>

#include "cpu/element/quotient.h"
#include "cpu/gathered/families.h"
#include "cpu/gathered/results.h"
#include "cpu/gathered/tree.h"
#include "real_functions.h"

namespace oriel::cpu {
namespace {

// A sum as S7 keeps it: exact, but modulo 2^64 of 64-bit types.
template <class T>
wide_int kept(wide_int sum) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum));
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return static_cast<std::uint64_t>(sum);
  else
    return sum;
}

// The whole number nearest to the square root, which is never half-way.
std::uint64_t nearest_root(std::uint64_t u) {
  auto r = static_cast<std::uint64_t>(std::sqrt(static_cast<long double>(u)));
  while (r > 0xffffffffULL || r * r > u) --r;
  while (r < 0xffffffffULL && (r + 1) * (r + 1) <= u) ++r;
  return u - r * r > r ? r + 1 : r;
}

template <class T>
class SumWorker {
 public:
  SumWorker(const Statistic& job, const Results& results, Arena& arena)
      : problem_(job.problem), results_(results), wide_(job.problem.result == Dtype::f64) {
    room_ = arena.take_array<double>(most_cells(problem_));
    other_room_ = arena.take_array<double>(job.weights != nullptr ? most_cells(problem_) : 0);
  }

  void operator()(const ValidTaps<T>& taps, ResultPlace place) const {
    if (taps.weights() != nullptr) return put_weighted(taps, place);
    if (problem_.pool.op == Op::lp && std::isinf(problem_.pool.norm)) return put_magnitude(taps, place);
    if constexpr (!is_floating_v<T>) return put_whole(taps, place);
    if constexpr (is_floating_v<T>) {
      if (wide_ && !std::is_same_v<T, double>) return put_float<double>(taps, place);
      put_float<accumulator_t<T>>(taps, place);
    }
  }

 private:
  template <class A>
  void put_float(const ValidTaps<T>& taps, ResultPlace place) const {
    const T* v = taps.values();
    const double norm = problem_.pool.norm;
    const bool lp = problem_.pool.op == Op::lp;
    A* const room = reinterpret_cast<A*>(room_);
    const A sum = tree_sum<A>(taps, room, [&](index_t i) {
      const A x = static_cast<A>(v[i]);
      if (!lp) return x;
      if (norm == 2) return x * x;
      return norm == 1 ? std::fabs(x) : static_cast<A>(norm_power(static_cast<double>(std::fabs(x)), norm));
    });
    if (problem_.pool.op == Op::avg) return put_average(taps, place, sum);
    if (!lp || norm == 1) return results_.put(place, static_cast<double>(sum));
    const auto s = static_cast<double>(sum);
    results_.put(place, norm_root(s, norm));
  }

  // A correctly rounded division.
  template <class A>
  void put_average(const ValidTaps<T>& taps, ResultPlace place, A sum) const {
    const index_t divisor = taps.divisor();
    if (divisor == 0 || taps.size() == 0) return results_.put(place, 0.0);
    constexpr index_t kFloatDivisors = index_t{1} << 24;
    if (problem_.result != Dtype::f32)
      return results_.put(place, static_cast<double>(sum) / static_cast<double>(divisor));
    if (std::is_same_v<A, float> && divisor < kFloatDivisors)
      return results_.put(place, static_cast<double>(sum / static_cast<A>(divisor)));
    results_.put(place, odd_quotient(static_cast<double>(sum), divisor));
  }

  void put_whole(const ValidTaps<T>& taps, ResultPlace place) const {
    const bool floats = is_floating(problem_.result);
    if (problem_.pool.op == Op::lp) return put_whole_norm(taps, place);
    wide_int sum = 0;
    for (index_t i = 0; i < taps.size(); ++i) sum += number_of(taps.values()[i]);
    if (!floats) sum = kept<T>(sum);
    if (problem_.pool.op == Op::sum) return results_.put(place, sum);
    const index_t divisor = taps.divisor();
    if (divisor == 0) return results_.put(place, wide_int{0});
    results_.put_quotient(place, sum, divisor);
  }

  void put_whole_norm(const ValidTaps<T>& taps, ResultPlace place) const {
    const double norm = problem_.pool.norm;
    std::uint64_t sum = 0;
    const auto magnitude = [&](index_t i) {
      const wide_int v = number_of(taps.values()[i]);
      return static_cast<std::uint64_t>(v < 0 ? -v : v);
    };
    if (norm == 2 && is_floating(problem_.result)) return put_root(taps, place);
    if (norm == 1 && is_floating(problem_.result)) {
      wide_int exact = 0;
      for (index_t i = 0; i < taps.size(); ++i) exact += magnitude(i);
      return results_.put(place, exact);
    }
    if (norm == 1 || norm == 2) {
      for (index_t i = 0; i < taps.size(); ++i) sum += norm == 2 ? magnitude(i) * magnitude(i) : magnitude(i);
      return results_.put(place, wide_int{norm == 2 ? nearest_root(sum) : sum});
    }
    const double power =
        tree_sum<double>(taps, room_, [&](index_t i) { return norm_power(static_cast<double>(magnitude(i)), norm); });
    results_.put(place, norm_root(power, norm));
  }

  // The root of squares that are exact in 128 bits, but for those of 64-bit types, which are added in f64.
  void put_root(const ValidTaps<T>& taps, ResultPlace place) const {
    const T* v = taps.values();
    if constexpr (sizeof(T) == 8) {
      results_.put(place, std::sqrt(tree_sum<double>(taps, room_, [&](index_t i) {
                     const auto x = static_cast<double>(number_of(v[i]));
                     return x * x;
                   })));
    } else {
      wide_int squares = 0;
      for (index_t i = 0; i < taps.size(); ++i) squares += wide_int{number_of(v[i])} * number_of(v[i]);
      results_.put(place, std::sqrt(static_cast<double>(squares)));
    }
  }

  void put_magnitude(const ValidTaps<T>& taps, ResultPlace place) const {
    if constexpr (is_floating_v<T>) {
      double largest = 0;
      for (index_t i = 0; i < taps.size(); ++i)
        largest = std::max(largest, std::fabs(static_cast<double>(taps.values()[i])));
      if (taps.last_nan() >= 0) largest = std::numeric_limits<double>::quiet_NaN();
      results_.put(place, largest);
    } else {
      wide_int largest = 0;
      for (index_t i = 0; i < taps.size(); ++i) {
        const wide_int v = number_of(taps.values()[i]);
        largest = std::max(largest, v < 0 ? -v : v);
      }
      results_.put(place, largest);
    }
  }

  void put_weighted(const ValidTaps<T>& taps, ResultPlace place) const {
    const double sum = tree_sum<double>(
        taps, room_, [&](index_t i) { return taps.weights()[i] * static_cast<double>(number_of(taps.values()[i])); });
    if (problem_.pool.op == Op::sum || taps.size() == 0) return results_.put(place, sum);
    results_.put(place, sum / tree_sum<double>(taps, other_room_, [&](index_t i) { return taps.weights()[i]; }));
  }

  const Problem& problem_;
  const Results& results_;
  const bool wide_;  // floats are added in f64, for a result of f64
  double* room_;
  double* other_room_;
};

}  // namespace

void run_gathered_sum(const Statistic& job, int threads) {
  visit(job.problem.dtype, [&]<class T>() { each_window<T, SumWorker<T>>(job, threads); });
}

}  // namespace oriel::cpu
