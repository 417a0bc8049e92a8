#include <algorithm>

#include "reference/statistic.h"

namespace oriel::reference {
namespace {

bool is_unsigned(Dtype dtype) {
  return dtype == Dtype::u8 || dtype == Dtype::u16 || dtype == Dtype::u32 || dtype == Dtype::u64 ||
         dtype == Dtype::boolean;
}

class StatisticForward {
 public:
  explicit StatisticForward(const Source& source)
      : source_(source), p_(source.pooling), results_(result_dtype(p_, source.dtype)) {}

  Outcome run() {
    const std::vector<index_t> shape = output_shape(p_);
    const std::size_t quantiles = std::max<std::size_t>(1, p_.q.size());
    for (std::size_t q = 0; q < quantiles; ++q)
      for (index_t o = 0; o < count_of(shape); ++o) window(source_.window(coordinates(shape, o)), q);
    results_.outcome().shape = shape;
    if (quantiles > 1) {
      auto& all = results_.outcome().shape;
      all.insert(all.begin(), static_cast<index_t>(quantiles));
    }
    return results_.outcome();
  }

 private:
  void window(const Taps& taps, std::size_t quantile) {
    if (source_.too_few(taps)) return fill();
    switch (p_.op) {
      case Op::max:
      case Op::min:
        return extremum(taps);
      case Op::avg:
      case Op::sum:
      case Op::lp:
        return write_sum(source_, taps, results_);
      case Op::count:
        return results_.integer(taps.count);
      case Op::any:
      case Op::all:
        return truth(taps);
      case Op::range:
      case Op::midrange:
        return span(taps);
      case Op::first:
        return selected(taps, taps.numbers().front());
      case Op::centre:
        return taps.valid[taps.centre] ? selected(taps, taps.centre) : fill();
      case Op::median:
      case Op::quantile:
        if (taps.nan) return not_a_number(taps);
        return rank(taps, quantile);
      case Op::mode:
        if (taps.nan) return not_a_number(taps);
        return selected(taps, mode_of(p_, taps), 0);
      case Op::nunique:
        return distinct(taps);
      case Op::var:
      case Op::std:
      case Op::rms:
        return write_variance(source_, taps, results_);
      default:
        return write_smooth(source_, taps, results_);
    }
  }

  // Whether a dtype has that value.
  static bool has(Dtype dtype, long double value) {
    return visit(dtype, [&]<class R>() {
      if constexpr (is_floating_v<R>)
        return std::isnan(value) || read(dtype, std::data({round_to<R>(value)}), 0) == value;
      else
        return value >= static_cast<long double>(as_integer(lowest_value<R>())) &&
               value <= static_cast<long double>(as_integer(highest_value<R>())) && value == std::floor(value);
    });
  }

  void fill() {
    const Dtype dtype = results_.outcome().dtype;
    results_.real(p_.fill                               ? *p_.fill
                  : p_.nodata && has(dtype, *p_.nodata) ? *p_.nodata
                  : is_floating(dtype)                  ? std::numeric_limits<long double>::quiet_NaN()
                                                        : 0);
    const bool between = p_.method == Method::midpoint || p_.method == Method::linear;
    switch (p_.op) {
      case Op::median:
      case Op::quantile:
        if (between) return;
        [[fallthrough]];
      case Op::max:
      case Op::min:
      case Op::first:
      case Op::centre:
      case Op::mode:
        return results_.index(-1, -1, -1);
      default:
        return;
    }
  }

  // The result is the value of tap t, or an equal one.
  void selected(const Taps& taps, std::size_t t) { selected(taps, t, taps.x[t]); }
  void selected(const Taps& taps, std::size_t t, long double zero) {
    results_.real(taps.x[t] == 0 ? zero : taps.x[t]);
    index(taps, t);
  }

  void index(const Taps& taps, std::size_t t) {
    const std::vector<index_t> at = coordinates(p_.shape, taps.elements[t]);
    std::vector<index_t> shape, place, mine, largest;
    for (std::size_t i = 0; i < p_.axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(p_.axes[i]);
      shape.push_back(p_.shape[axis]);
      place.push_back(at[axis]);
      mine.push_back(static_cast<index_t>(taps.sizes[i]));
      largest.push_back(source_.lines[i].largest_window);
    }
    results_.index(flatten(shape, place), taps.elements[t],
                   flatten(largest, coordinates(mine, static_cast<index_t>(t))));
  }

  void extremum(const Taps& taps) {
    const index_t winner = extreme(taps, p_.op == Op::max);
    if (winner >= 0) return selected(taps, static_cast<std::size_t>(winner));
    visit(source_.dtype, [&]<class R>() {  // S6
      const R value = p_.op == Op::max ? lowest_value<R>() : highest_value<R>();
      results_.real(read(dtype_v<R>, &value, 0));
    });
    results_.index(-1, -1, -1);
  }

  // The result is NaN; its index is that of the last one, as S3 has it.
  void not_a_number(const Taps& taps) {
    if (p_.method == Method::midpoint || p_.method == Method::linear)
      return results_.real(std::numeric_limits<long double>::quiet_NaN());
    std::size_t last = 0;
    for (const std::size_t t : taps.numbers())
      if (std::isnan(taps.x[t])) last = t;
    selected(taps, last);
  }

  void truth(const Taps& taps) {
    index_t is_true = 0;
    for (const std::size_t t : taps.numbers()) is_true += taps.x[t] != 0 ? 1 : 0;
    results_.integer(p_.op == Op::any ? is_true > 0 : is_true == taps.count);
  }

  void span(const Taps& taps) {
    const long double most = taps.x[static_cast<std::size_t>(extreme(taps, true))];
    const long double least = taps.x[static_cast<std::size_t>(extreme(taps, false))];
    if (!is_floating(source_.dtype)) {
      const auto high = static_cast<wide_int>(most), low = static_cast<wide_int>(least);
      return p_.op == Op::range ? results_.integer(high - low) : results_.divided(high + low, 2);
    }
    if (p_.op == Op::range) return results_.real(static_cast<double>(most) - static_cast<double>(least));
    if (source_.sums_in_f64()) return results_.real((static_cast<double>(most) + static_cast<double>(least)) / 2);
    const float sum = static_cast<float>(most) + static_cast<float>(least);
    results_.real(static_cast<long double>(sum) / 2);
  }

  void rank(const Taps& taps, std::size_t quantile) {
    if (p_.method == Method::midpoint || p_.method == Method::linear)
      return write_quantile(source_, taps, quantile, results_);
    const std::size_t chosen = place_of(p_, taps, quantile).low;
    results_.real(taps.x[chosen]);
    for (const std::size_t t : taps.numbers())  // the first tap with these bits
      if (taps.x[t] == taps.x[chosen] && std::signbit(taps.x[t]) == std::signbit(taps.x[chosen])) return index(taps, t);
  }

  void distinct(const Taps& taps) {
    std::vector<long double> seen;
    bool nan = false;
    for (const std::size_t t : taps.numbers()) {
      const long double x = taps.x[t];
      nan = nan || std::isnan(x);
      if (!std::isnan(x) && std::find(seen.begin(), seen.end(), x) == seen.end()) seen.push_back(x);
    }
    results_.integer(static_cast<wide_int>(seen.size()) + (nan ? 1 : 0));
  }

  const Source& source_;
  const Pooling& p_;
  Results results_;
};

}  // namespace

Dtype result_dtype(const Pooling& p, Dtype dtype) {
  if (p.result) return *p.result;
  switch (p.op) {
    case Op::any:
    case Op::all:
      return Dtype::boolean;
    case Op::count:
    case Op::nunique:
      return Dtype::i64;
    case Op::prod:
      return is_floating(dtype) ? dtype : is_unsigned(dtype) ? Dtype::u64 : Dtype::i64;
    case Op::var:
    case Op::std:
    case Op::rms:
    case Op::geo:
    case Op::harm:
    case Op::lse:
    case Op::soft:
      return is_floating(dtype) ? dtype : Dtype::f64;
    default:
      return dtype;
  }
}

std::size_t mode_of(const Pooling& p, const Taps& taps) {
  struct Vote {
    long double value = 0;
    double weight = 0;
    std::size_t first = 0;
  };
  std::vector<Vote> votes;  // in the order of their first taps
  for (const std::size_t t : taps.numbers()) {
    auto vote = std::find_if(votes.begin(), votes.end(), [&](const Vote& v) { return v.value == taps.x[t]; });
    if (vote == votes.end()) vote = votes.insert(votes.end(), {taps.x[t], 0, t});
    vote->weight += taps.weight[t];
  }
  const Vote* best = nullptr;
  for (const Vote& v : votes) {
    if (p.ignore && v.value == *p.ignore && votes.size() > 1) continue;
    const auto better = [&] {
      if (best == nullptr || v.weight != best->weight) return best == nullptr || v.weight > best->weight;
      return p.ties == Ties::lowest ? v.value < best->value : p.ties == Ties::highest && v.value > best->value;
    };
    if (better()) best = &v;
  }
  return best->first;
}

Outcome forward(const Pooling& pooling, Dtype dtype, const void* x, const Beside& beside) {
  return StatisticForward({pooling, dtype, x, beside}).run();
}

}  // namespace oriel::reference
