// Sums, averages and Lp norms over valid taps.
#include "reference/statistic.h"

namespace oriel::reference {
namespace {

bool is_wide(Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::u64; }

// A sum as S7 keeps it.
wide_int kept_as(Dtype dtype, wide_int sum) {
  return dtype == Dtype::i64 ? kept<std::int64_t>(sum) : dtype == Dtype::u64 ? kept<std::uint64_t>(sum) : sum;
}

long double weighted_sum(const Taps& taps) {
  long double sum = 0;
  for (const std::size_t t : taps.numbers()) sum += taps.x[t] * taps.weight[t];
  return sum;
}

void write_weighted(const Pooling& p, const Taps& taps, Results& results) {
  if (taps.count == 0) return results.integer(0);
  std::vector<double> terms, weights;
  long double magnitude = 0;
  for (std::size_t t = 0; t < taps.size(); ++t) {
    terms.push_back(taps.valid[t] ? static_cast<double>(taps.x[t]) * taps.weight[t] : -0.0);
    weights.push_back(taps.valid[t] ? taps.weight[t] : -0.0);
    if (taps.valid[t]) magnitude += std::fabs(taps.x[t] * taps.weight[t]);
  }
  const double sum = tree(terms, taps.sizes);
  const long double unit = (tree_depth(taps.sizes) + 4) * 0x1p-53L, exact = weighted_sum(taps);
  if (p.op == Op::sum) return results.real(sum, exact, unit * magnitude);
  const double all = tree(weights, taps.sizes);
  long double absolute = 0;
  for (const std::size_t t : taps.numbers()) absolute += std::fabs(static_cast<long double>(taps.weight[t]));
  const long double value = exact / weight_of(taps), cancelled = absolute / std::fabs(weight_of(taps));
  results.real(sum / all, value,
               unit * (magnitude / std::fabs(weight_of(taps)) + std::fabs(value) * cancelled) * (1 + cancelled));
}

// The root of a sum of |x|^p of integers; the reference knows its bits for p = 1, 2 and infinity.
void write_integer_norm(const Pooling& p, const Taps& taps, Results& results) {
  const bool floating = is_floating(results.outcome().dtype);
  wide_uint sum = 0;
  wide_int largest = 0;
  for (const std::size_t t : taps.numbers()) {
    const auto v = static_cast<wide_uint>(std::fabs(taps.x[t]));
    largest = std::max(largest, static_cast<wide_int>(v));
    sum += p.norm == 2 ? v * v : v;
  }
  if (std::isinf(p.norm)) return results.integer(largest);
  const auto word = static_cast<std::uint64_t>(sum);
  if (p.norm == 1) return results.integer(static_cast<wide_int>(floating ? sum : wide_uint{word}));
  const long double value = norm_of(p, taps);
  if (p.norm != 2 || floating) return results.within(value, value * 1e-13L);
  auto root = static_cast<wide_int>(std::sqrt(static_cast<long double>(word)));
  while (root * root > word) --root;
  while ((root + 1) * (root + 1) <= word) ++root;
  results.integer(word > root * root + root ? root + 1 : root);
}

void write_integers(const Source& source, const Taps& taps, Results& results) {
  if (source.pooling.op == Op::lp) return write_integer_norm(source.pooling, taps, results);
  wide_int sum = 0;
  for (const std::size_t t : taps.numbers()) sum += static_cast<wide_int>(taps.x[t]);
  if (!is_floating(results.outcome().dtype)) sum = kept_as(source.dtype, sum);  // else exact, S15
  if (source.pooling.op == Op::sum) return results.integer(sum);
  if (taps.divisor == 0) return results.integer(0);
  results.divided(sum, taps.divisor);
}

template <class A>
void write_floats(const Source& source, const Taps& taps, Results& results) {
  const Pooling& p = source.pooling;
  if (taps.count == 0 || (p.op == Op::avg && taps.divisor == 0)) return results.integer(0);
  std::vector<A> terms;
  long double exact = 0, magnitude = 0;
  for (std::size_t t = 0; t < taps.size(); ++t) {
    A term = A(-0.0);
    if (taps.valid[t]) {
      const A v = static_cast<A>(taps.x[t]), size = std::fabs(v);
      term = p.op != Op::lp ? v : p.norm == 2 ? v * v : p.norm == 1 ? size : A(0);
      exact += taps.x[t];
      magnitude += std::fabs(taps.x[t]);
    }
    terms.push_back(term);
  }
  const A sum = tree(terms, taps.sizes);
  const long double unit = (tree_depth(taps.sizes) + 4) * std::ldexp(1.0L, -std::numeric_limits<A>::digits);
  if (p.op == Op::sum) return results.real(sum, exact, unit * magnitude);
  if (p.op == Op::avg) {
    const auto divisor = static_cast<long double>(taps.divisor);
    return results.real(quotient(static_cast<double>(sum), taps.divisor), exact / divisor, unit * magnitude / divisor);
  }
  const long double value = norm_of(p, taps);
  if (std::isinf(p.norm)) return results.real(value);
  if (p.norm == 1) return results.real(sum, value, unit * value);
  if (p.norm != 2) return results.within(value, 8 * unit * value);
  // IEEE's square root of a double, not of a long double that would be rounded once more.
  results.real(std::sqrt(static_cast<double>(sum)), value, 4 * unit * value);
}

}  // namespace

long double norm_of(const Pooling& p, const Taps& taps) {
  long double sum = 0, largest = 0;
  for (const std::size_t t : taps.numbers()) {
    const long double size = std::fabs(taps.x[t]);
    if (std::isnan(size)) return size;
    largest = std::max(largest, size);
    sum += std::pow(size, static_cast<long double>(p.norm));
  }
  return std::isinf(p.norm) ? largest : std::pow(sum, 1 / static_cast<long double>(p.norm));
}

long double weight_of(const Taps& taps) {
  long double sum = 0;
  for (const std::size_t t : taps.numbers()) sum += taps.weight[t];
  return sum;
}

long double mean_of(const Taps& taps) { return weighted_sum(taps) / weight_of(taps); }

long double variance_of(const Taps& taps) {
  const long double mean = mean_of(taps);
  long double sum = 0;
  for (const std::size_t t : taps.numbers()) sum += taps.weight[t] * (taps.x[t] - mean) * (taps.x[t] - mean);
  return sum;
}

void write_sum(const Source& source, const Taps& taps, Results& results) {
  if (taps.weighted)
    write_weighted(source.pooling, taps, results);
  else if (!is_floating(source.dtype))
    write_integers(source, taps, results);
  else if (source.sums_in_f64())
    write_floats<double>(source, taps, results);
  else
    write_floats<float>(source, taps, results);
}

// ---------------------------------------------------------------------------------------------------------------------

void write_quantile(const Source& source, const Taps& taps, std::size_t quantile, Results& results) {
  const Place place = place_of(source.pooling, taps, quantile);
  const long double low = taps.x[place.low], high = taps.x[place.high];
  if (source.pooling.method == Method::midpoint) {
    if (!is_floating(source.dtype)) return results.divided(static_cast<wide_int>(low) + static_cast<wide_int>(high), 2);
    if (place.low == place.high) return results.real(low);
    if (source.sums_in_f64()) return results.real((static_cast<double>(low) + static_cast<double>(high)) / 2);
    return results.real((low + high) / 2);  // 25 bits at most: exact but for the last rounding
  }
  if (place.share == 0 || (low == high && std::isinf(low))) return results.real(low);
  if (is_wide(source.dtype)) {  // a difference of 65 bits and a share of 53
    const long double value = low + (high - low) * place.share;
    return results.within(value, std::ldexp(std::fabs(low) + std::fabs(high), -52));
  }
  const double a = static_cast<double>(low), b = static_cast<double>(high);
  results.real(a + (b - a) * place.share);
}

}  // namespace oriel::reference
