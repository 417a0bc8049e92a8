#include "cpu/moments/rules.h"

#include <cmath>

#include "cpu/element/long_sum.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

bool is_signed(Dtype dtype) {
  return dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32 || dtype == Dtype::i64;
}

bool is_whole(Dtype dtype) { return !is_floating(dtype); }
bool is_wide(Dtype dtype) { return size_bytes(dtype) == 8; }

// The largest magnitude of an integer of at most 32 bits.
double largest(Dtype dtype) {
  if (dtype == Dtype::boolean) return 1;
  return std::ldexp(1.0, static_cast<int>(8 * size_bytes(dtype)) - (is_signed(dtype) ? 1 : 0));
}

// Whether 64-bit integers are added in more bits, for a floating result.
bool is_long_sum(const Statistic& job) {
  return is_whole(job.problem.dtype) && is_wide(job.problem.dtype) && is_floating(job.problem.result) &&
         job.weights == nullptr;
}

// Makes the rules of one job.
class Maker {
 public:
  Maker(const Statistic& job, bool even) : job_(job), pool_(job.problem.pool), dtype_(job.problem.dtype), even_(even) {
    weighted_ = job.weights != nullptr;
    taps_ = static_cast<double>(job.problem.taps());
  }

  MomentRules make() {
    LiftRule& lift = rules_.lift;
    lift.masked = job_.mask != nullptr;
    lift.weighted = weighted_;
    lift.wide_weights = weighted_ && job_.weights->dtype == Dtype::f64;
    lift.omits = job_.omits();
    lift.has_nodata = pool_.nodata.has_value();
    lift.norm = pool_.norm;
    if (lift.has_nodata) detail::store(*pool_.nodata, dtype_, lift.nodata.data());
    choose();
    if (!lift.all_valid() && !rules_.counted && rules_.count_field < 0) {
      rules_.count_field = 0;
      for (int g = 0; g < lift.groups; ++g)
        rules_.count_field += fields_of(lift.group[static_cast<std::size_t>(g)].join);
      add(Join::add_u32, Term::count);
    }
    LowerRule& lower = rules_.lower;
    lower.result = job_.problem.result;
    lower.join = lift.group[0].join;
    lower.is_signed = is_signed(dtype_) && !unsigned_;
    lower.ddof = pool_.ddof;
    lower.norm = pool_.norm;
    lower.weighted = weighted_;
    lower.least = static_cast<double>(std::max(pool_.min_count, detail::needed_taps(pool_)));
    lower.fraction = pool_.min_fraction;
    lower.lacks = lower.least > 0 || lower.fraction > 0;
    store_fill();
    return rules_;
  }

 private:
  void add(Join join, Term term) { rules_.lift.group[static_cast<std::size_t>(rules_.lift.groups++)] = {join, term}; }

  // The group that the result is made of, or its first one.
  void take(Join join, Term term, Value value) {
    add(join, term);
    rules_.lower.value = value;
  }

  void store_fill() {
    LowerRule& lower = rules_.lower;
    if (pool_.fill)
      detail::store(*pool_.fill, lower.result, lower.fill.data());
    else if (pool_.nodata && detail::is_representable(*pool_.nodata, lower.result))
      detail::store(*pool_.nodata, lower.result, lower.fill.data());
    else if (is_floating(lower.result))
      detail::store(std::numeric_limits<double>::quiet_NaN(), lower.result, lower.fill.data());
  }

  // Where sums of at most this magnitude are exact.
  Join whole_sum(double most) const { return most < 0x1p31 ? Join::add_u32 : Join::add_u64; }
  Join real_sum() const {
    return dtype_ == Dtype::f64 || job_.problem.result == Dtype::f64 ? Join::add_f64 : Join::add_f32;
  }

  void choose() {
    switch (pool_.op) {
      case Op::sum:
      case Op::avg:
        return choose_sum();
      case Op::lp:
        return choose_norm();
      case Op::count:
        take(Join::add_u32, Term::count, Value::whole);
        unsigned_ = true;
        rules_.count_field = 0;
        return;
      case Op::any:
        return take(Join::add_u32, Term::nonzero, Value::positive);
      case Op::all:
        return take(Join::add_u32, Term::zero, Value::none);
      case Op::prod:
        if (is_whole(dtype_)) return take(Join::multiply_u64, Term::value, Value::whole);
        return take(Join::multiply_f64, Term::value, Value::real);
      case Op::geo:
        take(Join::add_f64, Term::logarithm, Value::geometric);
        return add(Join::add_u32, Term::zero);
      case Op::harm:
        return take(Join::add_f64, Term::reciprocal, Value::harmonic);
      case Op::rms:
        return choose_mean_square();
      case Op::lse:
      case Op::soft:
        take(Join::add_f64, Term::value, Value::real);
        rules_.count_field = 1;
        return add(Join::add_u32, Term::count);
      default:
        return choose_variance();
    }
  }

  void choose_sum() {
    const bool average = pool_.op == Op::avg;
    if (weighted_) {
      take(Join::add_f64, Term::product, average ? Value::weighted_average : Value::real);
      if (average) add(Join::add_f64, Term::weight);
      return;
    }
    rules_.divides = average;
    const double divisor = std::max(taps_, static_cast<double>(pool_.divisor));
    if (is_long_sum(job_)) {
      rules_.lower.small = taps_ < static_cast<double>(LongSum::kFewTerms) && divisor < kShortDivisors;
      take(Join::add_u64, Term::low, average ? Value::long_average : Value::long_sum);
      return add(Join::add_u64, Term::high);
    }
    if (is_whole(dtype_)) {
      const double most = is_wide(dtype_) ? HUGE_VAL : taps_ * largest(dtype_);
      rules_.lower.small = most < 0x1p52 && divisor < 0x1p26;
      return take(whole_sum(most), Term::value, average ? Value::whole_average : Value::whole);
    }
    take(real_sum(), Term::value, average ? Value::real_average : Value::real);
    // A float's quotient by a divisor that is a float too survives being rounded twice.
    rules_.lower.odd = job_.problem.result == Dtype::f32 && (dtype_ == Dtype::f64 || divisor >= 0x1p24);
  }

  void choose_norm() {
    const double p = pool_.norm;
    if (p != 1 && p != 2) return take(is_whole(dtype_) ? Join::add_f64 : real_sum(), Term::power, Value::power_root);
    const Term term = p == 1 ? Term::absolute : Term::square;
    if (!is_whole(dtype_)) return take(real_sum(), term, p == 1 ? Value::real : Value::root);
    if (p == 2 && is_wide(dtype_) && is_floating(job_.problem.result))
      return take(Join::add_f64, Term::square, Value::root);
    unsigned_ = true;
    const double each = is_wide(dtype_) ? HUGE_VAL : p == 1 ? largest(dtype_) : largest(dtype_) * largest(dtype_);
    const Value root = is_floating(job_.problem.result) ? Value::whole_real_root : Value::whole_root;
    take(whole_sum(taps_ * each), term, p == 1 ? Value::whole : root);
  }

  bool is_exact() const { return is_whole(dtype_) && !is_wide(dtype_) && !weighted_; }

  void choose_mean_square() {
    rules_.lower.takes_root = true;
    if (is_exact()) {
      take(whole_sum(taps_ * largest(dtype_) * largest(dtype_)), Term::square, Value::exact_mean_square);
    } else if (weighted_) {
      take(Join::add_f64, Term::square_product, Value::weighted_mean_square);
      add(Join::add_f64, Term::weight);
    } else {
      take(Join::add_f64, Term::square, Value::mean_square);
    }
  }

  void choose_variance() {
    rules_.lower.takes_root = pool_.op == Op::std;
    if (is_exact()) {
      const Join join = whole_sum(taps_ * largest(dtype_) * largest(dtype_));
      take(join, Term::value, Value::exact_variance);
      return add(join, Term::square);
    }
    rules_.bounded = dtype_ != Dtype::f64;
    if (weighted_) return take(Join::counted, Term::weighted_state, Value::variance);
    rules_.counted = !rules_.lift.all_valid() || !even_;
    take(rules_.counted ? Join::counted : Join::moments, Term::state, Value::variance);
  }

  const Statistic& job_;
  const Pool& pool_;
  const Dtype dtype_;
  const bool even_;
  bool weighted_ = false, unsigned_ = false;
  double taps_ = 1;
  MomentRules rules_;
};

bool has_norm_rules(const Statistic& job) {
  const double p = job.problem.pool.norm;
  const Dtype dtype = job.problem.dtype;
  if (std::isinf(p)) return false;
  if (!is_whole(dtype) || !is_floating(job.problem.result) || (p != 1 && p != 2)) return true;
  if (is_wide(dtype)) return p == 2;  // else sums of 128 bits
  return p == 1 || static_cast<double>(job.problem.taps()) * largest(dtype) * largest(dtype) < 0x1p63;
}

}  // namespace

bool has_moment_rules(const Statistic& job) {
  const Pool& pool = job.problem.pool;
  const Dtype dtype = job.problem.dtype;
  const auto taps = static_cast<double>(job.problem.taps());
  if (taps >= 0x1p31) return false;
  switch (pool.op) {
    case Op::sum:
    case Op::avg:
      return true;
    case Op::lp:
      return has_norm_rules(job);
    case Op::count:
    case Op::any:
    case Op::all:
    case Op::prod:
    case Op::geo:
    case Op::harm:
      return true;
    case Op::var:
    case Op::std:
    case Op::rms:
      if (!is_whole(dtype) || is_wide(dtype) || job.weights != nullptr) return true;
      return taps * taps * largest(dtype) * largest(dtype) < 0x1p63;  // of exact variances, in 64 bits
    default:
      return false;
  }
}

MomentRules moment_rules(const Statistic& job, bool even) { return Maker(job, even).make(); }

MomentRules exponential_rules(const Statistic& job) { return Maker(job, true).make(); }

}  // namespace oriel::cpu
