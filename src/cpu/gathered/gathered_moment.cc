// Variances and the other operations that are computed in f64 (S18, S19).
#include "cpu/gathered/families.h"
#include "cpu/gathered/moments.h"
#include "cpu/gathered/results.h"

namespace oriel::cpu {
namespace {

template <class T>
class MomentWorker {
 public:
  MomentWorker(const Statistic& job, const Results& results, Arena& arena)
      : pool_(job.problem.pool),
        results_(results),
        moments_(arena.take_array<Moments>(most_cells(job.problem))),
        room_(reinterpret_cast<double*>(moments_)) {}

  void operator()(const ValidTaps<T>& taps, ResultPlace place) const {
    switch (pool_.op) {
      case Op::var:
      case Op::std:
        return put_variance(taps, place);
      case Op::rms:
        return put_rms(taps, place);
      case Op::prod:
        return put_product(taps, place);
      case Op::geo:
        return results_.put(place, geometric_mean(taps, room_));
      case Op::harm:
        return results_.put(place, harmonic_mean(taps, room_));
      case Op::lse:
        return results_.put(place, log_of_exponentials(taps, pool_, room_));
      default:
        return results_.put(place, soft_mean(taps, room_));
    }
  }

 private:
  // Whether sums of squares of its values are exact in 128 bits.
  static constexpr bool kExact = !is_floating_v<T> && sizeof(T) < 8;

  void put_variance(const ValidTaps<T>& taps, ResultPlace place) const {
    const bool root = pool_.op == Op::std;
    if constexpr (kExact) {
      if (taps.weights() == nullptr) {
        wide_int sum = 0, squares = 0;
        for (index_t i = 0; i < taps.size(); ++i) {
          const wide_int x = number_of(taps.values()[i]);
          sum += x;
          squares += x * x;
        }
        const wide_int n = taps.size(), above = n * squares - sum * sum, below = n * (n - pool_.ddof);
        if (root) return results_.put(place, std::sqrt(rounded_quotient<double>(above, below)));
        return results_.put_quotient(place, above, below);
      }
    }
    const Moments m = moments_of(taps, moments_);
    const double variance = m.squares / (m.n - pool_.ddof);
    results_.put(place, root ? std::sqrt(variance) : variance);
  }

  void put_rms(const ValidTaps<T>& taps, ResultPlace place) const {
    if constexpr (kExact) {
      if (taps.weights() == nullptr) {
        wide_int squares = 0;
        for (index_t i = 0; i < taps.size(); ++i) {
          const wide_int x = number_of(taps.values()[i]);
          squares += x * x;
        }
        return results_.put(place, std::sqrt(rounded_quotient<double>(squares, taps.size())));
      }
    }
    results_.put(place, root_mean_square(taps, room_));
  }

  void put_product(const ValidTaps<T>& taps, ResultPlace place) const {
    if constexpr (is_floating_v<T>) {
      results_.put(place, product_of(taps, room_));
    } else {
      std::uint64_t product = 1;
      for (index_t i = 0; i < taps.size(); ++i) product *= static_cast<std::uint64_t>(number_of(taps.values()[i]));
      constexpr bool kUnsigned = std::is_unsigned_v<T> || std::is_same_v<T, bool8>;
      results_.put(place, kUnsigned ? wide_int{product} : wide_int{static_cast<std::int64_t>(product)});
    }
  }

  const Pool& pool_;
  const Results& results_;
  Moments* moments_;
  double* room_;  // the same memory
};

}  // namespace

void run_gathered_moment(const Statistic& job, int threads) {
  visit(job.problem.dtype, [&]<class T>() { each_window<T, MomentWorker<T>>(job, threads); });
}

}  // namespace oriel::cpu
