#include "cpu/gathered/results.h"

#include <bit>

#include "cpu/element/quotient.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The value of T nearest to v: floats rounded, integers half to even and saturated.
template <class T>
T nearest(double v) {
  if constexpr (std::is_same_v<T, bool8>) {
    return bool8(std::rint(v) > 0);
  } else if constexpr (is_floating_v<T>) {
    return static_cast<T>(v);
  } else {
    const double r = std::rint(v);
    if (r != r) return T{0};
    if (r <= static_cast<double>(lowest_value<T>())) return lowest_value<T>();
    return r >= static_cast<double>(highest_value<T>()) ? highest_value<T>() : static_cast<T>(r);
  }
}

template <class T>
T nearest(wide_int v) {
  if constexpr (std::is_same_v<T, bool8>) {
    return bool8(v > 0);
  } else if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return static_cast<T>(static_cast<double>(v));
  } else if constexpr (is_floating_v<T>) {
    return static_cast<T>(v);
  } else {
    const wide_int low = lowest_value<T>(), high = highest_value<T>();
    return static_cast<T>(v < low ? low : v > high ? high : v);
  }
}

wide_int half_even(wide_int n, wide_int d) {
  wide_int q = n / d, r = n % d;
  if (r < 0) {
    r += d;
    --q;
  }
  const wide_int rest = d - r;
  return r > rest || (r == rest && q % 2 != 0) ? q + 1 : q;
}

}  // namespace

template <class R>
R rounded_quotient(wide_int n, wide_int d) {
  const bool negative = n < 0;
  const wide_uint divisor = static_cast<wide_uint>(d), numerator = static_cast<wide_uint>(negative ? -n : n);
  constexpr wide_uint kExact = wide_uint{1} << 53;
  if (numerator < kExact && divisor < kExact) {
    const double q = odd_quotient(static_cast<double>(numerator), static_cast<index_t>(divisor));
    const R exact = std::is_same_v<R, double>
                        ? static_cast<R>(static_cast<double>(numerator) / static_cast<double>(divisor))
                        : static_cast<R>(q);
    return negative ? -exact : exact;
  }
  // 62 bits or more of the quotient, the last one set if anything is lost: rounding that once more is right.
  wide_uint q = numerator / divisor, rest = numerator % divisor;
  int scale = 0;
  while (q >> 62 == 0 && (q != 0 || rest != 0) && scale > -1000) {
    rest <<= 1;
    q = q << 1 | (rest >= divisor ? 1 : 0);
    if (rest >= divisor) rest -= divisor;
    --scale;
  }
  bool lost = rest != 0;
  while (q >> 63 != 0) {
    lost = lost || (q & 1) != 0;
    q >>= 1;
    ++scale;
  }
  const auto bits = static_cast<std::uint64_t>(q) | (lost ? 1 : 0);
  const R magnitude = std::ldexp(static_cast<R>(bits), scale);
  return negative ? -magnitude : magnitude;
}

template double rounded_quotient<double>(wide_int n, wide_int d);
template float rounded_quotient<float>(wide_int n, wide_int d);

Results::Results(const Statistic& job)
    : problem_(job.problem),
      y_(job.y),
      index_(job.index),
      space_(job.space),
      dtype_(job.problem.result),
      lead_(job.y.rank() - job.x.rank()),
      flat_(Extents::filled(job.x.rank(), 0)) {
  for (int d = lead_; d < y_.rank(); ++d) shape_.push_back(y_.shape[d]);
  outputs_ = element_count(shape_);
  if (space_ == IndexSpace::tensor) {
    flat_ = dense_pitch(problem_.shape);
  } else {
    index_t step = 1;
    for (int a = problem_.pooled - 1; a >= 0; --a) {
      const int d = problem_.axes[at(a)];
      flat_[d] = step;
      step *= problem_.shape[d];
    }
  }
  const Pool& pool = problem_.pool;
  if (pool.fill)
    detail::store(*pool.fill, dtype_, fill_.data());
  else if (pool.nodata && detail::is_representable(*pool.nodata, dtype_))
    detail::store(*pool.nodata, dtype_, fill_.data());
  else if (is_floating(dtype_))
    detail::store(std::numeric_limits<double>::quiet_NaN(), dtype_, fill_.data());
}

ResultPlace Results::place_of(const Extents& output) const {
  ResultPlace place;
  for (int d = 0; d < output.size(); ++d) {
    place.y += output[d] * y_.pitch[d + lead_];
    if (index_ != nullptr) place.index += output[d] * index_->pitch[d + lead_];
  }
  return place;
}

ResultPlace Results::of_quantile(ResultPlace place, index_t k) const {
  if (lead_ == 0) return place;
  place.y += k * y_.pitch[0];
  if (index_ != nullptr) place.index += k * index_->pitch[0];
  return place;
}

void Results::put(ResultPlace place, double value) const {
  visit(dtype_, [&]<class T>() {
    const T stored = nearest<T>(value);
    std::memcpy(bytes_at(place), &stored, sizeof(T));
  });
}

void Results::put(ResultPlace place, wide_int value) const {
  visit(dtype_, [&]<class T>() {
    const T stored = nearest<T>(value);
    std::memcpy(bytes_at(place), &stored, sizeof(T));
  });
}

void Results::put_quotient(ResultPlace place, wide_int n, wide_int d) const {
  if (dtype_ == Dtype::f32) return put(place, static_cast<double>(rounded_quotient<float>(n, d)));
  if (is_floating(dtype_)) return put(place, rounded_quotient<double>(n, d));
  put(place, half_even(n, d));
}

void Results::put_fill(ResultPlace place) const {
  std::memcpy(bytes_at(place), fill_.data(), static_cast<std::size_t>(size_bytes(dtype_)));
}

void Results::put_index(ResultPlace place, const TapBox& box, const Extents& output, index_t cell) const {
  if (index_ == nullptr) return;
  std::int64_t value = -1;
  if (cell >= 0) {
    const std::array<index_t, kMaxPooledAxes> taps = box.taps_of(cell);
    value = 0;
    Extents input = output;
    for (int a = 0; a < problem_.pooled; ++a) {
      const Axis& axis = problem_.axis[at(a)];
      const int d = problem_.axes[at(a)];
      input[d] = axis.at(output[d], taps[at(a)]);
      if (space_ == IndexSpace::window) value = value * axis.kernel + taps[at(a)];
    }
    if (space_ != IndexSpace::window)
      for (int d = 0; d < input.size(); ++d) value += input[d] * flat_[d];
  }
  if (index_->dtype == Dtype::i64)
    static_cast<std::int64_t*>(index_->data)[place.index] = value;
  else if (index_->dtype == Dtype::i32)
    static_cast<std::int32_t*>(index_->data)[place.index] = static_cast<std::int32_t>(value);
  else
    static_cast<std::uint8_t*>(index_->data)[place.index] = static_cast<std::uint8_t>(value);  // none: 255
}

Extents Results::first_output(index_t number) const {
  Extents output = shape_;
  for (int d = shape_.size() - 1; d >= 0; --d) {
    output[d] = number % shape_[d];
    number /= shape_[d];
  }
  return output;
}

void Results::to_next(Extents& output) const {
  for (int d = shape_.size() - 1; d >= 0; --d) {
    if (++output[d] < shape_[d]) return;
    output[d] = 0;
  }
}

}  // namespace oriel::cpu
