#include <algorithm>
#include <cmath>
#include <cstring>

#include "real_functions.h"  // S7 defines powers and roots by it; a test of its own checks it
#include "reference/geometry.h"
#include "reference/numbers.h"
#include "reference/taps.h"

namespace oriel::reference {
namespace {

template <class T>
bool is_nan(T v) {
  if constexpr (is_floating_v<T>)
    return std::isnan(static_cast<double>(v));
  else
    return false;
}

// A number in which the elements of T compare as they should.
template <class T>
auto order_of(T v) {
  if constexpr (is_floating_v<T>)
    return static_cast<double>(v);
  else
    return as_integer(v);
}

template <class T>
class Forward {
 public:
  Forward(const Pooling& pooling, const T* x) : p_(pooling), lines_(make_lines(pooling)), x_(x) {}

  Outcome run() {
    out_.shape = output_shape(p_);
    out_.dtype = dtype_v<T>;
    const index_t count = count_of(out_.shape);
    for (index_t o = 0; o < count; ++o) {
      output_ = coordinates(out_.shape, o);
      window_ = window_of(p_, lines_, output_);
      if (p_.op == Op::max || p_.op == Op::min)
        extreme();
      else if (p_.op == Op::lp && std::isinf(p_.norm))
        largest_magnitude();
      else if constexpr (is_floating_v<T>)
        sum_floats();
      else
        sum_integers();
    }
    return out_;
  }

 private:
  void emit(T bits, long double value, long double bound) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
    out_.bits.insert(out_.bits.end(), bytes, bytes + sizeof(T));
    out_.value.push_back(static_cast<double>(value));
    out_.bound.push_back(static_cast<double>(bound));
  }

  bool left_out(index_t element) const { return element < 0 || (p_.omit_nan && is_nan(x_[element])); }

  // S3, S4, S6, S10.
  void extreme() {
    index_t winner = -1, tap = -1;
    for (std::size_t t = 0; t < window_.elements.size(); ++t) {
      const index_t e = window_.elements[t];
      if (left_out(e)) continue;
      const auto better = [&] {
        if (winner < 0 || is_nan(x_[e])) return true;
        if (is_nan(x_[winner])) return false;
        return p_.op == Op::max ? order_of(x_[e]) > order_of(x_[winner]) : order_of(x_[e]) < order_of(x_[winner]);
      };
      if (better()) {
        winner = e;
        tap = static_cast<index_t>(t);
      }
    }
    T value = p_.op == Op::max ? lowest_value<T>() : highest_value<T>();
    if (winner >= 0) value = x_[winner];
    if constexpr (std::is_same_v<T, bool8>) value = bool8(value.byte != 0);
    emit(value, static_cast<long double>(order_of(value)), 0);
    out_.tensor.push_back(winner);
    out_.plane.push_back(winner < 0 ? -1 : plane_index(winner));
    out_.window.push_back(winner < 0 ? -1 : tap_code(tap));
  }

  index_t plane_index(index_t element) const {
    const std::vector<index_t> at = coordinates(p_.shape, element);
    std::vector<index_t> shape, place;
    for (int axis : p_.axes) {
      shape.push_back(p_.shape[static_cast<std::size_t>(axis)]);
      place.push_back(at[static_cast<std::size_t>(axis)]);
    }
    return flatten(shape, place);
  }

  // The tap of this window, numbered in the largest one.
  index_t tap_code(index_t tap) const {
    std::vector<index_t> mine, largest;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      mine.push_back(static_cast<index_t>(window_.sizes[i]));
      largest.push_back(lines_[i].largest_window);
    }
    return flatten(largest, coordinates(mine, tap));
  }

  void largest_magnitude() {
    if constexpr (is_floating_v<T>) {
      double largest = 0;
      for (index_t e : window_.elements) {
        if (left_out(e)) continue;
        const double v = std::fabs(static_cast<double>(x_[e]));
        if (std::isnan(v) || v > largest) largest = v;
        if (std::isnan(v)) break;
      }
      emit(T(largest), largest, 0);
    } else {
      wide_int largest = 0;
      for (index_t e : window_.elements) {
        if (e < 0) continue;
        const wide_int v = as_integer(x_[e]);
        largest = std::max(largest, v < 0 ? -v : v);
      }
      emit(saturate<T>(largest), static_cast<long double>(order_of(saturate<T>(largest))), 0);
    }
  }

  // |x|^p as one term of an Lp sum, in the accumulator type.
  template <class A>
  A power(A v) const {
    const A magnitude = std::fabs(v);
    if (p_.norm == 1) return magnitude;
    if (p_.norm == 2) return v * v;
    return static_cast<A>(norm_power(static_cast<double>(magnitude), p_.norm));
  }

  void sum_floats() {
    using A = accumulator_t<T>;
    std::vector<A> terms;
    long double plain = 0, magnitude = 0;
    index_t present = 0, omitted = 0;
    for (index_t e : window_.elements) {
      if (left_out(e)) {
        terms.push_back(A(-0.0));
        if (e >= 0) ++omitted;
        continue;
      }
      ++present;
      const A v = static_cast<A>(x_[e]);
      terms.push_back(p_.op == Op::lp ? power(v) : v);
      const long double exact =
          p_.op == Op::lp ? std::pow(std::fabs(static_cast<long double>(v)), p_.norm) : static_cast<long double>(v);
      plain += exact;
      magnitude += std::fabs(exact);
    }
    A sum = present == 0 ? A(0) : tree(terms, window_.sizes);
    const long double unit = std::ldexp(1.0L, -std::numeric_limits<A>::digits);
    const long double error = (tree_depth(window_.sizes) + 2) * unit;
    if (p_.op == Op::avg) {
      const index_t divisor = divisor_of(p_, lines_, output_, omitted);
      if (divisor == 0 || present == 0) return emit(T(0.0), 0, 0);
      plain /= static_cast<long double>(divisor);
      emit_rounded(quotient(static_cast<double>(sum), divisor), plain,
                   error * magnitude / static_cast<long double>(divisor));
    } else if (p_.op == Op::sum || p_.norm == 1) {
      emit_rounded(sum, plain, error * magnitude);
    } else {
      const long double root = std::pow(plain, 1 / static_cast<long double>(p_.norm));
      // IEEE's square root is correctly rounded; from a double it must come in one rounding, not by way of long double.
      const long double result = p_.norm == 2 ? static_cast<long double>(std::sqrt(static_cast<double>(sum)))
                                              : static_cast<long double>(norm_root(static_cast<double>(sum), p_.norm));
      emit_rounded(result, root, 4 * error * root);
    }
  }

  void emit_rounded(long double result, long double value, long double error) {
    const long double half_unit = std::ldexp(std::fabs(value), -Format<T>::bits);
    const long double tiny = std::ldexp(1.0L, Format<T>::least - Format<T>::bits + 1);
    emit(round_to<T>(result), value, error + half_unit + tiny);
  }

  void sum_integers() {
    wide_int sum = 0;
    wide_uint powers = 0;
    std::vector<double> terms;
    long double plain = 0;
    for (index_t e : window_.elements) {
      const wide_int v = e < 0 ? 0 : as_integer(x_[e]);
      const wide_int magnitude = v < 0 ? -v : v;
      sum += v;
      const wide_uint positive = static_cast<wide_uint>(magnitude);
      powers += p_.norm == 2 ? positive * positive : positive;
      if (p_.op != Op::lp || p_.norm == 1 || p_.norm == 2) continue;
      terms.push_back(e < 0 ? -0.0 : norm_power(static_cast<double>(magnitude), p_.norm));
      plain += std::pow(static_cast<long double>(magnitude), static_cast<long double>(p_.norm));
    }
    if (p_.op == Op::sum) {
      emit_integer(kept<T>(sum));
    } else if (p_.op == Op::avg) {
      const index_t divisor = divisor_of(p_, lines_, output_, 0);
      emit_integer(divisor == 0 ? 0 : divide_half_even(kept<T>(sum), divisor));
    } else if (p_.norm == 1) {
      emit_integer(static_cast<std::uint64_t>(powers));
    } else if (p_.norm == 2) {
      emit_integer(nearest_root(static_cast<std::uint64_t>(powers)));
    } else {
      const double root = norm_root(tree(terms, window_.sizes), p_.norm);
      const T bits =
          root >= 0x1p64 ? std::numeric_limits<T>::max() : saturate<T>(static_cast<wide_int>(std::nearbyint(root)));
      const long double value = std::pow(plain, 1 / static_cast<long double>(p_.norm));
      const auto largest = static_cast<long double>(order_of(highest_value<T>()));
      emit(bits, std::min(value, largest), 0.51L + value * 1e-13L);
    }
  }

  void emit_integer(wide_int v) {
    const T bits = saturate<T>(v);
    emit(bits, static_cast<long double>(as_integer(bits)), 0);
  }

  // The integer nearest to the square root; it is never half-way.
  static wide_int nearest_root(std::uint64_t v) {
    wide_int root = static_cast<wide_int>(std::sqrt(static_cast<long double>(v)));
    while (root * root > v) --root;
    while ((root + 1) * (root + 1) <= v) ++root;
    return v > root * root + root ? root + 1 : root;
  }

  const Pooling& p_;
  const std::vector<Line> lines_;
  const T* x_;
  Outcome out_;
  std::vector<index_t> output_;
  Window window_;
};

}  // namespace

Outcome forward(const Pooling& pooling, Dtype dtype, const void* x) {
  if (is_statistic(pooling)) return forward(pooling, dtype, x, Beside{});
  return visit(dtype, [&]<class T>() { return Forward<T>(pooling, static_cast<const T*>(x)).run(); });
}

}  // namespace oriel::reference
