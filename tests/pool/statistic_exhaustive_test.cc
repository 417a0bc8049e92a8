// Every tensor of three values, of every op and option: all windows that a tensor of two rows of five can have.
#include <gtest/gtest.h>

#include "pool/statistic_case.h"

namespace oriel::test {
namespace {

#ifdef ORIEL_SANITIZED  // which takes several times as long
constexpr index_t kLongest = 3;
#else
constexpr index_t kLongest = 5;
#endif

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// All tensors of `height` rows of `width` with three values: [3^(height width)][height][width].
std::vector<std::byte> all_tensors(Dtype dtype, index_t height, index_t width) {
  return visit(dtype, [&]<class T>() {
    T values[] = {T(0), T(1), highest_value<T>()};
    if constexpr (is_floating_v<T>) values[2] = T(kNan);
    index_t tensors = 1;
    for (index_t i = 0; i < height * width; ++i) tensors *= 3;
    std::vector<std::byte> out;
    for (index_t n = 0; n < tensors; ++n) {
      index_t rest = n;
      for (index_t i = 0; i < height * width; ++i, rest /= 3) {
        const auto* bytes = reinterpret_cast<const std::byte*>(&values[rest % 3]);
        out.insert(out.end(), bytes, bytes + sizeof(T));
      }
    }
    return out;
  });
}

// Every op, with every option that is its own.
std::vector<Pool> all_ops(Dtype dtype) {
  std::vector<Pool> pools;
  const auto add = [&](Op op, auto... change) {
    Pool& pool = pools.emplace_back();
    pool.op = op;
    (change(pool), ...);
  };
  for (int op = 0; op <= static_cast<int>(Op::soft); ++op)
    if (static_cast<Op>(op) != Op::quantile) add(static_cast<Op>(op));
  add(Op::avg, [](Pool& p) { p.count_include_pad = false; });
  add(Op::avg, [](Pool& p) { p.divisor = 3; });
  for (const double norm : {1.0, HUGE_VAL, 3.0}) add(Op::lp, [=](Pool& p) { p.norm = norm; });
  for (int m = 0; m < 7; ++m) {
    const auto method = [=](Pool& p) { p.method = static_cast<Quantile>(m); };
    if (m > 0) add(Op::median, method);
    add(Op::quantile, method, [](Pool& p) { p.q = {0.3, 1, 0}; });
  }
  for (int t = 0; t < 3; ++t) {
    const auto tie = [=](Pool& p) { p.tie = static_cast<Tie>(t); };
    if (t > 0) add(Op::mode, tie);
    add(Op::mode, tie, [=](Pool& p) { p.ignore = scalar_of(dtype, 0); });
  }
  for (const Op op : {Op::var, Op::std}) add(op, [](Pool& p) { p.ddof = 1; });
  add(Op::lse, [](Pool& p) {
    p.sharpness = 2.5;
    p.sum_of_exponentials = true;
  });
  return pools;
}

// What every op may have; the number of the change, 0 for none.
constexpr int kChanges = 8;
void change(int number, Dtype dtype, Pool& pool) {
  const index_t height = pool.windows.kernel[0], width = pool.windows.kernel[1];
  const Scalar last = is_floating(dtype)   ? Scalar(kNan)
                      : dtype == Dtype::u8 ? Scalar(std::int64_t{255})
                                           : Scalar(INT64_MAX);
  switch (number) {
    case 1:
      pool.nan = NanPolicy::omit;
      break;
    case 2:
      pool.nodata = scalar_of(dtype, 0);
      break;
    case 3:
      pool.nodata = last;
      break;
    case 4:
      pool.nodata = scalar_of(dtype, 1);
      pool.min_count = 2;
      break;
    case 5:
      pool.nodata = last;
      pool.min_fraction = 0.6;
      pool.fill = scalar_of(Dtype::u8, 1);
      break;
    case 6:
      pool.footprint.shape = {height, width};
      for (index_t t = 0; t < height * width; ++t) pool.footprint.taps.push_back(t % 3 != 1);
      break;
    case 7:
      pool.result_dtype = Dtype::f64;
      pool.nodata = scalar_of(dtype, 1);
      break;
    default:
      break;
  }
}

// The pools of all ops with a kernel and a stride; those that the library refuses, which bad input tests know, are left
// out.
std::vector<Problem> problems(Dtype dtype, const Extents& shape, Extents kernel, index_t stride, index_t pad,
                              int changes) {
  std::vector<Problem> out;
  for (const Pool& op : all_ops(dtype)) {
    for (int number = 0; number < changes; ++number) {
      Pool pool = op;
      pool.windows = {.kernel = kernel, .stride = {stride}, .pad_lo = {pad}, .axes = {1, 2}};
      change(number, dtype, pool);
      try {
        out.push_back(make_problem(pool, dtype, shape));
      } catch (const Error&) {
        continue;
      }
    }
  }
  return out;
}

struct Results {
  std::vector<std::byte> y;
  std::vector<std::int64_t> taps;  // in space window
};

Results run(const Problem& p, const std::vector<std::byte>& x) {
  const bool selects = detail::selects_tap(p.pool);
  const index_t count = element_count(p.output_shape);
  Results out;
  out.y.resize(static_cast<std::size_t>(count * size_bytes(p.result)));
  if (selects) out.taps.resize(static_cast<std::size_t>(count));
  forward(p, {.x = ConstTensor(x.data(), p.dtype, p.shape),
              .y = Tensor(out.y.data(), p.result, p.output_shape),
              .indices = selects ? Tensor(out.taps.data(), p.output_shape) : Tensor(),
              .space = IndexSpace::window});
  return out;
}

reference::Outcome expected_of(const Problem& p, const std::vector<std::byte>& x) {
  return reference::forward(reference::from_problem(p), p.dtype, x.data(), {});
}

// Compares element i of the library's with element j of the reference's.
::testing::AssertionResult same(const Problem& p, const Results& got, index_t i, const reference::Outcome& expected,
                                index_t j) {
  const auto at = static_cast<std::size_t>(j);
  const index_t bytes = size_bytes(p.result);
  const std::byte* mine = got.y.data() + i * bytes;
  const double value = reference::element(p.result, mine, 0);
  bool equal = reference::first_difference(p.result, mine, expected.bits.data() + j * bytes, 1) < 0;
  if (!expected.exact) {
    const double wanted = expected.value[at];
    equal =
        (std::isnan(value) && std::isnan(wanted)) || value == wanted || std::fabs(value - wanted) <= expected.bound[at];
  }
  if (!equal)
    return ::testing::AssertionFailure() << to_string(p) << ": element " << i << " is " << value << " instead of "
                                         << reference::element(p.result, expected.bits.data(), j);
  if (!got.taps.empty() && got.taps[static_cast<std::size_t>(i)] != expected.window[at])
    return ::testing::AssertionFailure() << to_string(p) << ": the tap of element " << i << " is "
                                         << got.taps[static_cast<std::size_t>(i)] << " instead of "
                                         << expected.window[at];
  return ::testing::AssertionSuccess();
}

// The number of the tensor of all_tensors(height, width) that a window at (row, column) of tensor n sees.
index_t seen(index_t n, index_t columns, index_t row, index_t column, index_t height, index_t width) {
  std::vector<index_t> digits;
  for (; digits.size() < 10; n /= 3) digits.push_back(n % 3);
  index_t number = 0;
  for (index_t r = height; r-- > 0;)
    for (index_t c = width; c-- > 0;)
      number = 3 * number + digits[static_cast<std::size_t>((row + r) * columns + column + c)];
  return number;
}

// All tensors of two rows; what a window gives is what the reference makes of it alone.
void check_inside(Dtype dtype, index_t columns, const Extents& kernel, index_t stride, int changes) {
  const std::vector<std::byte> x = all_tensors(dtype, 2, columns), alone = all_tensors(dtype, kernel[0], kernel[1]);
  const index_t tensors = static_cast<index_t>(x.size()) / (2 * columns * size_bytes(dtype));
  const index_t windows = static_cast<index_t>(alone.size()) / (kernel[0] * kernel[1] * size_bytes(dtype));
  for (const Problem& p : problems(dtype, {tensors, 2, columns}, kernel, stride, 0, changes)) {
    const Results got = run(p, x);
    const reference::Outcome expected =
        expected_of(make_problem(p.pool, dtype, {windows, kernel[0], kernel[1]}), alone);
    const index_t rows = p.axis[0].out, across = p.axis[1].out;
    const index_t quantiles = element_count(p.output_shape) / (tensors * rows * across);
    index_t i = 0;
    for (index_t q = 0; q < quantiles; ++q)
      for (index_t n = 0; n < tensors; ++n)
        for (index_t r = 0; r < rows; ++r)
          for (index_t c = 0; c < across; ++c, ++i)
            ASSERT_TRUE(same(p, got, i, expected,
                             q * windows + seen(n, columns, r * stride, c * stride, kernel[0], kernel[1])));
  }
}

TEST(StatisticExhaustive, S13_S20_EveryTensorOfTwoRowsOfFive) {
  for (const Dtype dtype : {Dtype::f32, Dtype::u8})
    for (const Extents& kernel : {Extents{1, 3}, Extents{2, 2}}) check_inside(dtype, kLongest, kernel, 1, 1);
}

TEST(StatisticExhaustive, S13_S20_EveryWindowWithEveryOption) {
  for (const Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::i64})
    for (const Extents& kernel :
         {Extents{1, 1}, Extents{1, 2}, Extents{1, 3}, Extents{2, 1}, Extents{2, 2}, Extents{2, 3}})
      for (const index_t stride : {1, 2}) check_inside(dtype, 3, kernel, stride, kChanges);
}

// With padding, windows have fewer taps.
TEST(StatisticExhaustive, S13_S20_EveryTensorWithPadding) {
  for (const Dtype dtype : {Dtype::f64, Dtype::boolean}) {
    for (const Extents& kernel : {Extents{2, 2}, Extents{2, 3}, Extents{3, 3}}) {
      for (const auto& [height, width] : {std::pair<index_t, index_t>{1, 4}, {2, 2}}) {
        const std::vector<std::byte> x = all_tensors(dtype, height, width);
        const Extents shape{static_cast<index_t>(x.size()) / (height * width * size_bytes(dtype)), height, width};
        for (const Problem& p : problems(dtype, shape, kernel, 2, 1, kChanges)) {
          const Results got = run(p, x);
          const reference::Outcome expected = expected_of(p, x);
          for (index_t i = 0; i < element_count(p.output_shape); ++i) ASSERT_TRUE(same(p, got, i, expected, i));
        }
      }
    }
  }
}

}  // namespace
}  // namespace oriel::test
