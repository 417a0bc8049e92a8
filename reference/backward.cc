#include <algorithm>
#include <cmath>
#include <cstring>

#include "real_functions.h"
#include "reference/geometry.h"
#include "reference/numbers.h"
#include "reference/taps.h"

namespace oriel::reference {
namespace {

template <class T>
class Backward {
 public:
  static constexpr bool kFloating = is_floating_v<T>;
  // Integer sums are exact here and rounded at the end.
  using A = std::conditional_t<kFloating, accumulator_t<T>, wide_int>;

  Backward(const Pooling& pooling, const T* x, const T* dy)
      : p_(pooling), lines_(make_lines(pooling)), x_(x), dy_(dy), output_shape_(output_shape(pooling)) {}

  Outcome run() {
    out_.shape = p_.shape;
    out_.dtype = dtype_v<T>;
    if (p_.op == Op::max || p_.op == Op::min)
      by_winner([](index_t) { return A(1); }, p_);
    else if (p_.op == Op::lp && std::isinf(p_.norm))
      largest_magnitude();
    else
      by_shares();
    return out_;
  }

 private:
  static A value_of(T v) {
    if constexpr (kFloating)
      return static_cast<A>(v);
    else
      return as_integer(v);
  }

  void emit(A sum, long double value, long double error) {
    T bits{};
    if constexpr (kFloating) {
      bits = round_to<T>(sum);
      error +=
          std::ldexp(std::fabs(value), -Format<T>::bits) + std::ldexp(1.0L, Format<T>::least - Format<T>::bits + 1);
    } else {
      bits = saturate<T>(kept<T>(sum));
      value = static_cast<long double>(as_integer(bits));
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
    out_.bits.insert(out_.bits.end(), bytes, bytes + sizeof(T));
    out_.value.push_back(static_cast<double>(value));
    out_.bound.push_back(static_cast<double>(error));
  }

  // Each output's gradient goes to the input that it came from, times factor(input); outputs one after another.
  template <class Factor>
  void by_winner(Factor factor, const Pooling& pooling, const void* x = nullptr) {
    const Outcome y = forward(pooling, dtype_v<T>, x == nullptr ? x_ : x);
    const std::size_t inputs = static_cast<std::size_t>(count_of(p_.shape));
    std::vector<A> sums(inputs, A(0));
    std::vector<long double> plain(inputs, 0), magnitude(inputs, 0);
    for (std::size_t o = 0; o < y.tensor.size(); ++o) {
      if (y.tensor[o] < 0) continue;
      const std::size_t i = static_cast<std::size_t>(y.tensor[o]);
      const A term = value_of(dy_[o]) * factor(y.tensor[o]);
      sums[i] += term;
      plain[i] += static_cast<long double>(term);
      magnitude[i] += std::fabs(static_cast<long double>(term)) * static_cast<long double>(y.tensor.size());
    }
    for (std::size_t i = 0; i < inputs; ++i)
      emit(sums[i], plain[i], magnitude[i] * std::ldexp(1.0L, -std::numeric_limits<accumulator_t<T>>::digits));
  }

  // Lp of p = infinity: the first largest |x| takes the gradient, with the sign of x.
  void largest_magnitude() {
    if constexpr (kFloating) {
      std::vector<T> magnitudes;
      for (index_t i = 0; i < count_of(p_.shape); ++i) {
        T v = x_[i];
        if (value_of(v) < 0) v = T(-static_cast<double>(v));
        magnitudes.push_back(v);
      }
      Pooling max = p_;
      max.op = Op::max;
      by_winner([this](index_t i) { return sign(value_of(x_[i])); }, max, magnitudes.data());
    }
  }

  static A sign(A v) { return v > 0 ? A(1) : v < 0 ? A(-1) : A(0); }

  // Sum, average, Lp: every output shares its gradient out; an input adds the shares by S8's tree.
  void by_shares() {
    make_shares();
    const index_t inputs = count_of(p_.shape);
    for (index_t i = 0; i < inputs; ++i) {
      const Window window = feeders_of(p_, lines_, coordinates(p_.shape, i));
      std::vector<A> terms;
      long double plain = 0, magnitude = 0;
      for (index_t o : window.elements) {
        terms.push_back(o < 0 ? A(-0.0) : shares_[static_cast<std::size_t>(o)]);
        if (o < 0) continue;
        plain += exact_shares_[static_cast<std::size_t>(o)];
        magnitude += std::fabs(exact_shares_[static_cast<std::size_t>(o)]);
      }
      A sum = (terms.empty() ? A(0) : tree(terms, window.sizes)) + A(0);
      long double error = 0;
      if constexpr (kFloating) {
        error = (tree_depth(window.sizes) + 3) * std::ldexp(magnitude, -std::numeric_limits<A>::digits);
        if (p_.op == Op::lp) multiply_by_slope(value_of(x_[i]), sum, plain, error);
        const bool omitted = p_.omit_nan && std::isnan(static_cast<double>(x_[i]));
        if (omitted) {
          sum = 0;
          plain = error = 0;
        }
      }
      emit(sum, plain, error);
    }
  }

  // d|x|^p / dx, but for the factor p: sign(x) |x|^(p-1).
  void multiply_by_slope(A x, A& sum, long double& plain, long double& error) const {
    const long double exact = std::pow(std::fabs(static_cast<long double>(x)), static_cast<long double>(p_.norm) - 1) *
                              static_cast<long double>(sign(x));
    A slope = sign(x);
    if (p_.norm == 2)
      slope = x;
    else if (p_.norm != 1)
      slope = static_cast<A>(norm_power(std::fabs(static_cast<double>(x)), p_.norm - 1)) * sign(x);
    sum = sum * slope + A(0);
    plain *= exact;
    error = error * std::fabs(exact) * 8 + std::fabs(plain) * 16 * std::ldexp(1.0L, -std::numeric_limits<A>::digits);
  }

  void make_shares() {
    Outcome y;
    if (p_.op == Op::lp) y = forward(p_, dtype_v<T>, x_);
    for (index_t o = 0; o < count_of(output_shape_); ++o) {
      const A g = value_of(dy_[o]);
      A share = g;
      long double exact = static_cast<long double>(g);
      if constexpr (kFloating) {
        if (p_.op == Op::avg) {
          const index_t divisor = divisor_for(o);
          share = divisor == 0 ? A(0) : round_to<A>(quotient(static_cast<double>(g), divisor));
          exact = divisor == 0 ? 0 : exact / static_cast<long double>(divisor);
        } else if (p_.op == Op::lp && p_.norm != 1) {
          const double root = y.value[static_cast<std::size_t>(o)];
          exact =
              root == 0 ? 0 : exact / std::pow(static_cast<long double>(root), static_cast<long double>(p_.norm) - 1);
          share = static_cast<A>(exact);
        }
      }
      shares_.push_back(share);
      exact_shares_.push_back(exact);
    }
  }

  index_t divisor_for(index_t o) const {
    const std::vector<index_t> at = coordinates(output_shape_, o);
    index_t omitted = 0;
    if constexpr (kFloating)
      if (p_.omit_nan)
        for (index_t e : window_of(p_, lines_, at).elements)
          if (e >= 0 && std::isnan(static_cast<double>(x_[e]))) ++omitted;
    return divisor_of(p_, lines_, at, omitted);
  }

  const Pooling& p_;
  const std::vector<Line> lines_;
  const T* x_;
  const T* dy_;
  const std::vector<index_t> output_shape_;
  std::vector<A> shares_;
  std::vector<long double> exact_shares_;
  Outcome out_;
};

}  // namespace

Outcome backward(const Pooling& pooling, Dtype dtype, const void* x, const void* dy) {
  if (is_statistic(pooling)) return backward(pooling, dtype, x, dy, Beside{});
  return visit(dtype, [&]<class T>() {
    return Backward<T>(pooling, static_cast<const T*>(x), static_cast<const T*>(dy)).run();
  });
}

Outcome unpool(const std::vector<index_t>& shape, Dtype dtype, const void* y,
               const std::vector<index_t>& tensor_indices) {
  const std::size_t bytes = visit(dtype, []<class T>() { return sizeof(T); });
  Outcome out;
  out.shape = shape;
  out.bits.assign(static_cast<std::size_t>(count_of(shape)) * bytes, std::byte{0});
  for (std::size_t o = 0; o < tensor_indices.size(); ++o)
    if (tensor_indices[o] >= 0)
      std::memcpy(out.bits.data() + static_cast<std::size_t>(tensor_indices[o]) * bytes,
                  static_cast<const std::byte*>(y) + o * bytes, bytes);
  return out;
}

}  // namespace oriel::reference
