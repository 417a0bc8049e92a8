// Random pools over valid taps (S13 to S20), and their comparison with the reference.
#pragma once

#include <functional>
#include <optional>

#include "pool/conform.h"
#include "pool/random_problem.h"
#include "statistic_rules.h"

namespace oriel::test {

/// A problem with its elements, mask and weights. Masks and weights are empty if there are none.
struct StatisticCase {
  Problem problem;
  Data data = Data::integers;
  std::vector<std::byte> x;
  std::vector<std::uint8_t> mask;
  std::vector<double> weights;
  bool shared = false;  // mask and weights are the same along the axes that are not pooled: their extent is 1 there
  Dtype mask_dtype = Dtype::u8, weights_dtype = Dtype::f64;

  reference::Beside beside() const {
    return {mask.empty() ? nullptr : mask.data(), weights.empty() ? nullptr : weights.data()};
  }
  std::string text() const {
    return fmt::format("{}{}{} ({})", to_string(problem), mask.empty() ? "" : " with a mask",
                       weights.empty() ? "" : " with weights", name(data));
  }
};

inline Scalar scalar_of(Dtype dtype, index_t value) {
  if (dtype == Dtype::boolean) return std::int64_t{value != 0};
  return is_floating(dtype) ? Scalar(static_cast<double>(value)) : Scalar(std::int64_t{std::abs(value)});
}

inline void add_order_options(std::mt19937_64& random, Pool& pool) {
  if (pool.op == Op::median || pool.op == Op::quantile) pool.method = static_cast<Quantile>(random() % 7);
  if (pool.op == Op::quantile) {
    const double some[] = {0, 1, 0.5, 0.25, 0.9, 1.0 / 3, 0.75};
    for (index_t k = pick(random, 1, random() % 3 == 0 ? 3 : 1); k > 0; --k) pool.q.push_back(some[random() % 7]);
  }
  if (pool.op == Op::mode) pool.tie = static_cast<Tie>(random() % 3);
}

/// So many taps of `taps`, anywhere. As many as a box along some of the axes has, they are no box.
inline std::vector<std::uint8_t> random_taps(std::mt19937_64& random, index_t taps, index_t some) {
  std::vector<std::uint8_t> result(static_cast<std::size_t>(taps), 0);
  std::fill_n(result.begin(), some, std::uint8_t{1});
  std::shuffle(result.begin(), result.end(), random);
  return result;
}

/// Adds options of S13 to S20 to a pool for tensors of that dtype, which may then fit none.
inline void add_options(std::mt19937_64& random, Dtype dtype, Pool& pool) {
  add_order_options(random, pool);
  if (pool.op == Op::mode && random() % 2 == 0) pool.ignore = scalar_of(dtype, pick(random, -2, 2));
  if ((pool.op == Op::var || pool.op == Op::std) && random() % 3 == 0) pool.ddof = static_cast<int>(pick(random, 1, 2));
  if (pool.op == Op::lse) {
    pool.sharpness = random() % 2 == 0 ? 1 : 2.5;
    pool.sum_of_exponentials = random() % 2 == 0;
  }
  if (random() % 3 == 0) pool.nodata = scalar_of(dtype, pick(random, -2, 2));
  if (random() % 9 == 0 && is_floating(dtype)) pool.nodata = std::nan("");
  if (random() % 3 == 0) pool.min_count = pick(random, 1, 3);
  if (random() % 5 == 0) pool.min_fraction = static_cast<double>(pick(random, 1, 10)) / 10;
  const Dtype wide[] = {Dtype::f64, Dtype::f32, Dtype::i64, Dtype::u64, Dtype::i32, Dtype::u32};
  if (random() % 3 == 0) pool.result_dtype = wide[random() % 6];
  if (random() % 4 == 0) pool.fill = std::int64_t{1};
  if (pool.windows.kind == WindowKind::uniform && random() % 3 == 0) {
    const int pooled = pool.windows.axes.size();
    index_t taps = 1, some = 1;
    for (int i = 0; i < pooled; ++i) {
      const index_t kernel = pool.windows.kernel[pool.windows.kernel.size() == 1 ? 0 : i];
      pool.footprint.shape.push_back(kernel);
      taps *= kernel;
      if (random() % 2 == 0) some *= kernel;
    }
    taps = std::min<index_t>(taps, 4096);
    if (random() % 3 == 0 && some < taps) {
      pool.footprint.taps = random_taps(random, taps, some);
      return;
    }
    for (index_t t = 0; t < taps; ++t) pool.footprint.taps.push_back(random() % 3 != 0);
  }
}

/// The extents that a mask has if it is the same along the axes that are not pooled.
inline Extents shared_shape(const Problem& p) {
  Extents shape = Extents::filled(p.shape.size(), 1);
  for (int i = 0; i < p.pooled; ++i) {
    const int axis = p.axes[static_cast<std::size_t>(i)];
    shape[axis] = p.shape[axis];
  }
  return shape;
}

/// For each element of x the number of the element of such a mask.
inline std::vector<std::size_t> shared_numbers(const Problem& p) {
  const Extents shape = shared_shape(p), pitch = dense_pitch(shape);
  std::vector<std::size_t> numbers;
  for (index_t i = 0; i < element_count(p.shape); ++i) {
    index_t rest = i, number = 0;
    for (int a = p.shape.size() - 1; a >= 0; --a) {
      if (shape[a] != 1) number += rest % p.shape[a] * pitch[a];
      rest /= p.shape[a];
    }
    numbers.push_back(static_cast<std::size_t>(number));
  }
  return numbers;
}

/// Fills a mask, or weights, of a case with what next() gives.
template <class T, class Next>
std::vector<T> random_beside(const StatisticCase& c, const Next& next) {
  std::vector<T> out(static_cast<std::size_t>(element_count(c.problem.shape)));
  for (T& v : out) v = next();
  if (!c.shared) return out;
  const std::vector<T> few = out;
  const std::vector<std::size_t> numbers = shared_numbers(c.problem);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = few[numbers[i]];
  return out;
}

/// A problem of about `size` input elements at most, of any op, or with what `change` makes of its pool.
inline StatisticCase random_statistic(std::mt19937_64& random, index_t size,
                                      const std::function<void(Pool&)>& change = nullptr) {
  for (;;) {
    const Problem base = random_problem(random, size);
    Pool pool = base.pool;
    pool.op = static_cast<Op>(random() % (static_cast<unsigned>(Op::soft) + 1));
    if (pool.op != Op::avg) {
      pool.count_include_pad = true;
      pool.divisor = 0;
    }
    if (pool.op != Op::lp) pool.norm = 2;
    add_options(random, base.dtype, pool);
    if (pool.op == Op::quantile && random() % 4 == 0) {
      pool.q.clear();
      pool.method = Quantile::lower;
      pool.rank = pick(random, -3, 2);
    }
    if (change) change(pool);
    StatisticCase c;
    try {
      c.problem = make_problem(pool, base.dtype, base.shape);
    } catch (const Error&) {
      continue;  // an option that this op, dtype or window does not have
    }
    if (c.problem.taps() > 300) continue;
    const std::vector<std::uint8_t>& taps = pool.footprint.taps;
    if (pool.rank && !taps.empty() && std::count(taps.begin(), taps.end(), 0) + 3 > c.problem.taps()) continue;
    c.data = kAllData[random() % 4];
    const bool powers = pool.op == Op::lp && pool.norm != 1 && pool.norm != 2 && !std::isinf(pool.norm);
    if (powers && c.data == Data::specials) continue;  // powers of subnormals have no bound
    c.x = fill(base.dtype, element_count(base.shape), c.data, random);
    c.shared = random() % 3 == 0;
    c.mask_dtype = random() % 2 == 0 ? Dtype::u8 : Dtype::boolean;
    c.weights_dtype = random() % 2 == 0 ? Dtype::f64 : Dtype::f32;
    if (random() % 2 == 0 && !pool.rank)
      c.mask =
          random_beside<std::uint8_t>(c, [&] { return static_cast<std::uint8_t>(random() % 3 == 0 ? 0 : random()); });
    const bool divides = pool.op == Op::avg && (pool.count_include_pad || pool.divisor != 0);
    if (random() % 2 == 0 && detail::has_weights(pool) && pool.ddof == 0 && !divides)
      c.weights = random_beside<double>(c, [&] { return static_cast<double>(random() % 5) / 2; });
    return c;
  }
}

/// The operands of a case, placed in memory.
struct StatisticTensors {
  StatisticTensors(const StatisticCase& c, Layout layout) : x(c.problem.dtype, c.problem.shape, layout, c.x.data()) {
    const Extents shape = c.shared ? shared_shape(c.problem) : c.problem.shape;
    if (!c.mask.empty()) mask.emplace(c.mask_dtype, shape, layout, given(c, c.mask).data());
    if (c.weights.empty()) return;
    const std::vector<double> wide = given(c, c.weights);
    const std::vector<float> narrow(wide.begin(), wide.end());
    const bool is_wide = c.weights_dtype == Dtype::f64;
    weights.emplace(c.weights_dtype, shape, layout,
                    is_wide ? static_cast<const void*>(wide.data()) : static_cast<const void*>(narrow.data()));
  }
  ConstTensor mask_view() const { return mask ? ConstTensor(mask->view()) : ConstTensor(); }
  ConstTensor weights_view() const { return weights ? ConstTensor(weights->view()) : ConstTensor(); }

  Placed x;
  std::optional<Placed> mask, weights;

 private:
  // The elements that the call is given of those that the reference has.
  template <class T>
  static std::vector<T> given(const StatisticCase& c, const std::vector<T>& all) {
    if (!c.shared) return all;
    std::vector<T> few(static_cast<std::size_t>(element_count(shared_shape(c.problem))));
    const std::vector<std::size_t> numbers = shared_numbers(c.problem);
    for (std::size_t i = 0; i < all.size(); ++i) few[numbers[i]] = all[i];
    return few;
  }
};

inline std::string judge(const StatisticCase& c, const char* what, const reference::Outcome& expected,
                         const Placed& got) {
  if (!got.guards_survive()) return fmt::format("{} of {} wrote outside", what, c.text());
  const std::vector<std::byte> bits = got.dense();
  const index_t count = element_count(got.view().shape);
  const index_t i = expected.exact
                        ? reference::first_difference(expected.dtype, expected.bits.data(), bits.data(), count)
                        : reference::first_beyond_bound(expected.dtype, bits.data(), expected);
  if (i < 0) return {};
  const std::size_t at = static_cast<std::size_t>(i);
  return fmt::format("{} of {}: element {} is {} instead of {}, bound {}", what, c.text(), i,
                     reference::element(expected.dtype, bits.data(), i),
                     expected.exact ? reference::element(expected.dtype, expected.bits.data(), i) : expected.value[at],
                     expected.bound[at]);
}

/// y and, if the op selects taps, its indices.
inline std::string check_statistic_forward(const StatisticCase& c, Layout in, Layout out, const Options& options) {
  const reference::Pooling pooling = reference::from_problem(c.problem);
  const reference::Outcome expected = reference::forward(pooling, c.problem.dtype, c.x.data(), c.beside());
  const StatisticTensors operands(c, in);
  const Extents& shape = c.problem.output_shape;
  Placed y(c.problem.result, shape, out, nullptr);
  forward(c.problem.pool,
          {.x = operands.x.view(), .y = y.view(), .mask = operands.mask_view(), .weights = operands.weights_view()},
          options);
  if (std::string wrong = judge(c, "forward", expected, y); !wrong.empty()) return wrong;
  if (!operands.x.untouched()) return "forward wrote into its input";
  if (!detail::selects_tap(c.problem.pool)) return {};
  for (IndexSpace space : {IndexSpace::plane, IndexSpace::tensor, IndexSpace::window}) {
    Placed z(c.problem.result, shape, out, nullptr), indices(Dtype::i64, shape, out, nullptr);
    forward(c.problem.pool,
            {.x = operands.x.view(),
             .y = z.view(),
             .indices = indices.view(),
             .space = space,
             .mask = operands.mask_view(),
             .weights = operands.weights_view()},
            options);
    if (std::string wrong = judge(c, "forward with indices", expected, z); !wrong.empty()) return wrong;
    const std::vector<std::byte> got = indices.dense();
    const index_t i =
        reference::first_difference(Dtype::i64, indices_of(expected, space).data(), got.data(), element_count(shape));
    if (i >= 0)
      return fmt::format("index (space {}) of {}: element {} is {} instead of {}", static_cast<int>(space), c.text(), i,
                         reference::element(Dtype::i64, got.data(), i),
                         indices_of(expected, space)[static_cast<std::size_t>(i)]);
  }
  for (const Dtype dtype : code_dtypes(c.problem)) {
    Placed z(c.problem.result, shape, out, nullptr), codes(dtype, shape, out, nullptr);
    forward(c.problem.pool,
            {.x = operands.x.view(),
             .y = z.view(),
             .indices = codes.view(),
             .space = IndexSpace::window,
             .mask = operands.mask_view(),
             .weights = operands.weights_view()},
            options);
    if (!codes.guards_survive()) return fmt::format("codes of {} wrote outside", c.text());
    const std::vector<std::byte> got = codes.dense(), wanted = as_codes(expected, dtype);
    const index_t i = reference::first_difference(dtype, wanted.data(), got.data(), element_count(shape));
    if (i >= 0) return fmt::format("code ({}) of {}: element {} differs", name(dtype), c.text(), i);
  }
  return {};
}

inline std::string check_statistic_backward(const StatisticCase& c, std::mt19937_64& random, Layout in, Layout out,
                                            const Options& options) {
  if (!is_floating(c.problem.dtype) || !detail::has_gradient(c.problem.pool)) return {};
  if (!is_floating(c.problem.result) || c.data == Data::specials || c.data == Data::spread) return {};
  if (c.problem.pool.op == Op::harm && c.data == Data::integers) return {};  // inverses of integers cancel: no bound
  if (!c.problem.has_valid_taps() && c.mask.empty() && c.weights.empty()) return {};
  const std::vector<std::byte> dy =
      fill(c.problem.result, element_count(c.problem.output_shape), Data::integers, random);
  const reference::Pooling pooling = reference::from_problem(c.problem);
  const reference::Outcome expected = reference::backward(pooling, c.problem.dtype, c.x.data(), dy.data(), c.beside());
  const StatisticTensors operands(c, in);
  const Placed above(c.problem.result, c.problem.output_shape, in, dy.data());
  Placed dx(c.problem.dtype, c.problem.shape, out, nullptr);
  backward(c.problem.pool,
           {.x = operands.x.view(),
            .dy = above.view(),
            .dx = dx.view(),
            .mask = operands.mask_view(),
            .weights = operands.weights_view()},
           options);
  return judge(c, "backward", expected, dx);
}

}  // namespace oriel::test
