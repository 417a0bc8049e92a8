#include "pyramid/lower.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace oriel::detail {
namespace {

// Sums below this are divided in f64: the quotient is then closer to the exact one than this is to a tie.
constexpr std::int64_t kExactInDoubles = std::int64_t{1} << 51;
// Adding and subtracting it rounds a number below 2^51 to an integer, half to even.
constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52

// The quotient of integers, rounded half to even.
std::int64_t rounded_quotient(std::int64_t sum, std::int64_t count) {
  const std::int64_t down = sum / count - (sum % count < 0 ? 1 : 0);
  const std::int64_t rest = sum - down * count;
  const std::int64_t twice = rest - (count - rest);  // the sign of 2 rest - count
  return down + (twice > 0 || (twice == 0 && (down & 1) != 0) ? 1 : 0);
}

template <class T>
T saturated(std::int64_t v) {
  using Limits = std::numeric_limits<T>;
  if constexpr (sizeof(T) == 8 && !Limits::is_signed) return static_cast<T>(v);
  if (v < static_cast<std::int64_t>(Limits::min())) return Limits::min();
  if (v > static_cast<std::int64_t>(Limits::max())) return Limits::max();
  return static_cast<T>(v);
}

template <class S, class T>
T mean_of(S sum, index_t count) {
  if constexpr (is_floating_v<T>)
    return static_cast<T>(static_cast<double>(sum) / static_cast<double>(count));
  else
    return static_cast<T>(rounded_quotient(static_cast<std::int64_t>(sum), count));
}

template <class S, class T>
T sum_of(S sum) {
  if constexpr (is_floating_v<T>)
    return static_cast<T>(static_cast<double>(sum));
  else
    return saturated<T>(static_cast<std::int64_t>(sum));
}

template <class S, class T>
void divide_run(const S* sums, index_t n, index_t count, T* y) {
  if constexpr (is_floating_v<T>) {
    const auto divisor = static_cast<double>(count);
    if ((count & (count - 1)) == 0) {  // the reciprocal is exact
      const double factor = 1 / divisor;
      for (index_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<double>(sums[i]) * factor);
    } else {
      for (index_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<double>(sums[i]) / divisor);
    }
  } else if constexpr (std::is_same_v<S, std::int32_t>) {
    if (count == 1) {
      for (index_t i = 0; i < n; ++i) y[i] = static_cast<T>(sums[i]);
    } else if ((count & (count - 1)) == 0) {
      // A half is added, less one if the integer part is even: half to even. Sums are small enough for that
      // (carries.cc).
      const int shift = std::countr_zero(static_cast<std::uint64_t>(count));
      const auto half = static_cast<std::int32_t>(count / 2 - 1);
      for (index_t i = 0; i < n; ++i) {
        y[i] = static_cast<T>((sums[i] + half + ((sums[i] >> shift) & 1)) >> shift);
      }
    } else {
      const auto divisor = static_cast<double>(count);
      for (index_t i = 0; i < n; ++i) {
        y[i] = static_cast<T>(static_cast<std::int32_t>(static_cast<double>(sums[i]) / divisor + kRounder - kRounder));
      }
    }
  } else {
    for (index_t i = 0; i < n; ++i) {
      const auto sum = static_cast<std::int64_t>(sums[i]);
      if (sum < kExactInDoubles && sum > -kExactInDoubles) {
        const double quotient = static_cast<double>(sum) / static_cast<double>(count);
        y[i] = static_cast<T>(static_cast<std::int64_t>(quotient + kRounder - kRounder));
      } else {
        y[i] = static_cast<T>(rounded_quotient(sum, count));
      }
    }
  }
}

// A row along the last axis whose windows hold `outer` times taps[i] elements.
template <class S, class T>
void lower_row(const Lowering& how, const S* sums, index_t outer, const std::vector<index_t>& taps, T* y) {
  const auto n = static_cast<index_t>(taps.size());
  if (!how.divide) {
    for (index_t i = 0; i < n; ++i) y[i] = sum_of<S, T>(sums[i]);
    return;
  }
  for (index_t i = 0; i < n;) {
    index_t end = i + 1;
    while (end < n && taps[static_cast<std::size_t>(end)] == taps[static_cast<std::size_t>(i)]) ++end;
    divide_run(sums + i, end - i, outer * taps[static_cast<std::size_t>(i)], y + i);
    i = end;
  }
}

template <class S, class T>
void lower_counted_row(const Lowering& how, const S* sums, const std::int64_t* counts, index_t outer,
                       const std::vector<index_t>& taps, T* y) {
  T fill{};
  if (!how.fill.empty()) std::memcpy(&fill, how.fill.data(), sizeof fill);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const auto there = static_cast<double>(outer * taps[i]);
    const auto least = static_cast<index_t>(std::ceil(how.min_fraction * there));
    if (counts[i] < std::max(how.min_count, least))
      y[i] = fill;
    else if (counts[i] == 0)
      y[i] = T{};  // S14: sums and means need no valid tap
    else
      y[i] = how.divide ? mean_of<S, T>(sums[i], counts[i]) : sum_of<S, T>(sums[i]);
  }
}

template <class S, class T>
void lower_all(const Lowering& how, const ConstTensor& sums, const ConstTensor& counts,
               const std::vector<std::vector<index_t>>& taps, const Tensor& y) {
  const int last = sums.rank() - 1;
  const index_t row = sums.shape[last];
  Extents at = Extents::filled(last, 0);
  const auto* from = static_cast<const S*>(sums.data);
  const auto* valid = static_cast<const std::int64_t*>(counts.data);
  auto* to = static_cast<T*>(y.data);
  for (;;) {
    index_t outer = 1;
    for (int d = 0; d < last; ++d) outer *= taps[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[d])];
    if (valid == nullptr) {
      lower_row(how, from, outer, taps[static_cast<std::size_t>(last)], to);
    } else {
      lower_counted_row(how, from, valid, outer, taps[static_cast<std::size_t>(last)], to);
      valid += row;
    }
    from += row;
    to += row;
    int d = last - 1;
    for (; d >= 0 && ++at[d] == sums.shape[d]; --d) at[d] = 0;
    if (d < 0) return;
  }
}

}  // namespace

void lower(const Lowering& how, const ConstTensor& sums, const ConstTensor& counts,
           const std::vector<std::vector<index_t>>& taps, const Tensor& y) {
  if (element_count(sums.shape) == 0) return;
  visit(y.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool8>)
      throw Error("pyramid: there are no sums of bool");
    else if (sums.dtype == Dtype::i32)
      lower_all<std::int32_t, T>(how, sums, counts, taps, y);
    else if (sums.dtype == Dtype::i64)
      lower_all<std::int64_t, T>(how, sums, counts, taps, y);
    else
      lower_all<double, T>(how, sums, counts, taps, y);
  });
}

}  // namespace oriel::detail
