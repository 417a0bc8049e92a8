// Variances (S18) and the other smooth functions of S19.
#include <algorithm>

#include "reference/statistic.h"

namespace oriel::reference {
namespace {

// The state of S18.
struct Moments {
  double n = 0, sum = 0, squares = 0;
};

Moments join(const Moments& a, const Moments& b) {
  if (a.n == 0) return b;
  if (b.n == 0) return a;
  double between = 0;
  if (a.n == b.n) {
    const double apart = b.sum - a.sum;
    between = apart * apart / (2 * a.n);
  } else {
    const double apart = b.n * a.sum - a.n * b.sum;
    between = apart * apart / (a.n * b.n * (a.n + b.n));
  }
  return {a.n + b.n, a.sum + b.sum, (a.squares + b.squares) + between};
}

bool has_no_variance(const Taps& taps) {
  const auto numbers = taps.numbers();
  return std::any_of(numbers.begin(), numbers.end(), [&](std::size_t t) { return !std::isfinite(taps.x[t]); });
}

long double square_mean(const Taps& taps) {
  long double sum = 0;
  for (const std::size_t t : taps.numbers()) sum += taps.weight[t] * taps.x[t] * taps.x[t];
  return sum / weight_of(taps);
}

// Error of a variance in f64: of the squares, and of the means that they are taken about.
long double variance_error(const Taps& taps, long double variance) {
  const long double unit = (tree_depth(taps.sizes) + 6) * 0x1p-52L, mean = std::sqrt(square_mean(taps));
  return unit * (variance + mean * std::sqrt(variance)) + unit * unit * mean * mean;
}

// The error of a root, if the number under it has error `error`.
long double root_error(long double root, long double error) {
  const long double most = std::sqrt(error);
  return (root * most > error ? error / root : most) + root * 0x1p-52L;
}

bool is_small_integer(Dtype dtype) { return !is_floating(dtype) && dtype != Dtype::i64 && dtype != Dtype::u64; }

// Integers of at most 32 bits: a fraction of integers, rounded once; std, rms: its root.
void write_exact(const Pooling& p, const Taps& taps, Results& results) {
  wide_int sum = 0, squares = 0;
  const wide_int n = taps.count;
  for (const std::size_t t : taps.numbers()) {
    const auto v = static_cast<wide_int>(taps.x[t]);
    sum += v;
    squares += v * v;
  }
  const bool rms = p.op == Op::rms;
  const wide_int above = rms ? squares : n * squares - sum * sum, below = rms ? n : n * (n - p.ddof);
  if (p.op == Op::var) return results.divided(above, below);
  results.real(std::sqrt(round_to<double>(fraction(above, below))));
}

void write_floats(const Pooling& p, const Taps& taps, Results& results) {
  std::vector<Moments> states;
  for (std::size_t t = 0; t < taps.size(); ++t) {
    const double x = static_cast<double>(taps.x[t]);
    states.push_back(taps.valid[t] ? Moments{1, x, 0} : Moments{});
  }
  const Moments all = tree(states, taps.sizes, join);
  const double bits = all.squares / (all.n - p.ddof);
  const long double value = variance_of(taps) / static_cast<long double>(taps.count - p.ddof);
  const long double error = variance_error(taps, value);
  if (p.op == Op::var) return results.real(bits, value, error);
  results.real(std::sqrt(bits), std::sqrt(value), root_error(std::sqrt(value), error));
}

void write_root_of_squares(const Taps& taps, Results& results) {
  std::vector<double> terms;
  for (std::size_t t = 0; t < taps.size(); ++t) {
    const double x = static_cast<double>(taps.x[t]);
    terms.push_back(taps.valid[t] ? x * x : -0.0);
  }
  const double mean = tree(terms, taps.sizes) / static_cast<double>(taps.count);
  const long double value = std::sqrt(square_mean(taps));
  results.real(std::sqrt(mean), value, value * (tree_depth(taps.sizes) + 6) * 0x1p-53L);
}

}  // namespace

void write_variance(const Source& source, const Taps& taps, Results& results) {
  const Pooling& p = source.pooling;
  if (p.op != Op::rms && has_no_variance(taps)) return results.real(std::numeric_limits<long double>::quiet_NaN());
  if (taps.weighted) {
    const long double value = p.op == Op::rms ? square_mean(taps) : variance_of(taps) / weight_of(taps);
    const long double error =
        p.op == Op::rms ? value * (tree_depth(taps.sizes) + 8) * 0x1p-52L : 4 * variance_error(taps, value);
    if (p.op == Op::var) return results.within(value, error);
    return results.within(std::sqrt(value), root_error(std::sqrt(value), error));
  }
  if (is_small_integer(source.dtype))
    write_exact(p, taps, results);
  else if (p.op == Op::rms)
    write_root_of_squares(taps, results);
  else
    write_floats(p, taps, results);
}

// ---------------------------------------------------------------------------------------------------------------------

namespace {

// exp, log and pow of the library are its own, good to a few units in the last place of f64.
constexpr long double kUnit = 0x1p-50L;

void write_product(const Source& source, const Taps& taps, Results& results) {
  if (!is_floating(source.dtype)) {  // in 64 bits, wrapping
    std::uint64_t product = 1;
    for (const std::size_t t : taps.numbers()) product *= static_cast<std::uint64_t>(static_cast<wide_int>(taps.x[t]));
    Pooling pooling;
    pooling.op = Op::prod;
    const bool is_signed = result_dtype(pooling, source.dtype) == Dtype::i64;
    return results.integer(is_signed ? wide_int{static_cast<std::int64_t>(product)} : wide_int{product});
  }
  std::vector<double> factors;
  for (std::size_t t = 0; t < taps.size(); ++t) factors.push_back(taps.valid[t] ? static_cast<double>(taps.x[t]) : 1);
  const double bits = tree(factors, taps.sizes, std::multiplies<>());
  const long double value = smooth_value(source.pooling, taps);
  const bool in_range =
      std::isnormal(bits) && std::isnormal(value);  // else an order may overflow that another does not
  results.real(bits, in_range ? value : static_cast<long double>(bits),
               std::fabs(value) * static_cast<long double>(taps.count) * 0x1p-53L);
}

long double largest(const Taps& taps) { return taps.x[static_cast<std::size_t>(extreme(taps, true))]; }

long double harmonic_error(const Taps& taps, long double value, int depth) {
  long double sum = 0, magnitude = 0;
  for (const std::size_t t : taps.numbers()) {
    sum += 1 / taps.x[t];
    magnitude += std::fabs(1 / taps.x[t]);
  }
  const long double error = kUnit * depth * magnitude;
  if (std::isinf(magnitude)) return 0;
  if (std::fabs(sum) <= 2 * error) return HUGE_VALL;
  return 2 * error / std::fabs(sum) * std::fabs(value);
}

}  // namespace

long double smooth_value(const Pooling& p, const Taps& taps) {
  const long double n = static_cast<long double>(taps.count), r = p.op == Op::lse ? p.sharpness : 1;
  const std::vector<std::size_t> numbers = taps.numbers();
  const auto sum = [&](const auto& term) {
    long double all = 0;
    for (const std::size_t t : numbers) all += term(taps.x[t]);
    return all;
  };
  switch (p.op) {
    case Op::prod: {
      long double product = 1;
      for (const std::size_t t : numbers) product *= taps.x[t];
      return product;
    }
    case Op::geo: {
      bool zero = false;
      for (const std::size_t t : numbers) {
        if (std::isnan(taps.x[t]) || taps.x[t] < 0) return std::numeric_limits<long double>::quiet_NaN();
        zero = zero || taps.x[t] == 0;
      }
      return zero ? 0 : std::exp(sum([](long double x) { return std::log(x); }) / n);
    }
    case Op::harm:
      return n /
             sum([](long double x) { return static_cast<long double>(1 / static_cast<double>(x)); });  // may overflow
    default:
      break;
  }
  const long double m = largest(taps);
  if (std::isnan(m)) return m;
  if (std::isinf(m)) return m;
  const long double all = sum([&](long double x) { return std::exp(r * (x - m)); });
  if (p.op == Op::soft) return sum([&](long double x) { return std::isinf(x) ? 0 : x * std::exp(x - m); }) / all;
  return m + std::log(p.sum_of_exponentials ? all : all / n) / r;
}

void write_smooth(const Source& source, const Taps& taps, Results& results) {
  const Pooling& p = source.pooling;
  if (p.op == Op::prod) return write_product(source, taps, results);
  const long double value = smooth_value(p, taps), n = static_cast<long double>(taps.count);
  const int depth = tree_depth(taps.sizes) + 8;
  if (!std::isfinite(value)) return results.within(value, 0);
  if (p.op == Op::harm) return results.within(value, harmonic_error(taps, value, depth));
  long double error = 0;
  const long double m = largest(taps);
  if (p.op == Op::geo) {
    if (value == 0) return results.within(0, 0);
    for (const std::size_t t : taps.numbers()) error += std::fabs(std::log(taps.x[t])) / n;
    return results.within(value, kUnit * value * depth * (1 + error));
  }
  // Each exponential has the error of its exponent.
  const long double r = p.op == Op::lse ? p.sharpness : 1;
  long double all = 0, spread = 0;
  for (const std::size_t t : taps.numbers()) {
    const long double exponent = r * (taps.x[t] - m), e = std::exp(exponent);
    const long double size = p.op == Op::soft ? std::fabs(taps.x[t]) + std::fabs(value) : 1;
    all += e;
    if (e > 0) spread += e * (depth - exponent) * size;
  }
  error = kUnit * spread / all;
  if (p.op == Op::lse) error = error / r + kUnit * (std::fabs(m) + depth * std::fabs(value - m) + std::fabs(value));
  results.within(value, error);
}

}  // namespace oriel::reference
