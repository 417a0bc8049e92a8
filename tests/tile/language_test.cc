// The language's functions, each against plain loops in double.
#include <gtest/gtest.h>

#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i32, Dtype::u8, Dtype::i16};

// A kernel of one tile in and one out.
template <class F>
auto one_to_one(const Extents& out_shape, Dtype out_dtype, F f) {
  return nki::jit("one_to_one", [=](nl::tensor x) {
    auto out = nl::ndarray(out_shape, {.dtype = out_dtype, .buffer = nl::shared_hbm});
    nl::store(out, {.value = f(nl::load(x))});
    return out;
  });
}

TEST(Language, ReductionsOverEverySetOfFreeAxes) {
  const std::vector<std::vector<int>> sets = {{1}, {2}, {3}, {1, 2}, {2, 3}, {1, 3}, {3, 1}, {1, 2, 3}, {-1}};
  for (const Dtype dtype : kDtypes) {
    const nki::array x = numbers(dtype, {2, 3, 2, 4});
    for (const std::vector<int>& set : sets) {
      nl::axes axes(1);
      axes.values = set;
      bool folded[4] = {};
      for (const int a : set) folded[a < 0 ? a + 4 : a] = true;
      Extents kept, with_ones;
      for (int d = 0; d < 4; ++d) {
        if (!folded[d]) kept.push_back(x.shape()[d]);
        with_ones.push_back(folded[d] ? 1 : x.shape()[d]);
      }
      for (const bool keepdims : {false, true}) {
        for (int op = 0; op < 4; ++op) {
          const auto kernel = one_to_one(keepdims ? with_ones : kept, Dtype::f32, [=](nl::tensor t) {
            const nl::reduce_options o{.axis = axes, .dtype = nl::float32, .keepdims = keepdims};
            return op == 0 ? nl::sum(t, o) : op == 1 ? nl::max(t, o) : op == 2 ? nl::min(t, o) : nl::mean(t, o);
          });
          const nki::array y = agreed(kernel, x);
          ASSERT_EQ(y.shape(), keepdims ? with_ones : kept);
          std::vector<double> total(static_cast<std::size_t>(y.size()), 0), most(total.size(), -1e9),
              least(total.size(), 1e9);
          for (index_t i = 0; i < x.size(); ++i) {
            const index_t at[4] = {i / 24, i / 8 % 3, i / 4 % 2, i % 4};
            std::size_t flat = 0;
            for (int d = 0; d < 4; ++d)
              if (!folded[d]) flat = flat * static_cast<std::size_t>(x.shape()[d]) + static_cast<std::size_t>(at[d]);
            total[flat] += x.at(i);
            most[flat] = std::max(most[flat], x.at(i));
            least[flat] = std::min(least[flat], x.at(i));
          }
          for (std::size_t i = 0; i < total.size(); ++i) {
            const double taps = 48.0 / static_cast<double>(total.size());
            const double expected = op == 0   ? total[i]
                                    : op == 1 ? most[i]
                                    : op == 2 ? least[i]
                                              : static_cast<double>(static_cast<float>(total[i] / taps));
            EXPECT_EQ(y.at(static_cast<index_t>(i)), expected) << name(dtype) << " op " << op;
          }
        }
      }
    }
  }
}

TEST(Language, ProductsAndRoundingOnce) {
  const nki::array x = numbers(Dtype::f32, {1, 4});
  double product = 1;
  for (index_t i = 0; i < 4; ++i) product *= x.at(i);
  EXPECT_EQ(agreed(one_to_one({1}, Dtype::f32, [](nl::tensor t) { return nl::prod(t, {.axis = 1}); }), x).at(0),
            product);
}

TEST(Language, TableOfPromotions) {
  struct Row {
    Dtype a, b, result;
  };
  const Row rows[] = {{Dtype::i32, Dtype::f16, Dtype::f16},  {Dtype::f16, Dtype::bf16, Dtype::f32},
                      {Dtype::i8, Dtype::u8, Dtype::i16},    {Dtype::i32, Dtype::u32, Dtype::f32},
                      {Dtype::f32, Dtype::bf16, Dtype::f32}, {Dtype::u8, Dtype::i16, Dtype::i16},
                      {Dtype::u16, Dtype::i16, Dtype::i32},  {Dtype::u8, Dtype::u32, Dtype::u32}};
  for (const Row& row : rows) {
    Dtype found = Dtype::f64;
    const auto kernel = nki::jit("promote", [&](nl::tensor a, nl::tensor b) {
      const nl::tensor t = nl::load(a) + nl::load(b);
      found = t.dtype();
      auto out = nl::ndarray({2, 2}, {.dtype = t.dtype(), .buffer = nl::shared_hbm});
      nl::store(out, t);
      return out;
    });
    kernel(numbers(row.a, {2, 2}), numbers(row.b, {2, 2}));
    EXPECT_EQ(found, row.result) << name(row.a) << " with " << name(row.b);
  }
  std::vector<Dtype> with_numbers;
  const auto scalars = nki::jit("scalars", [&](nl::tensor x) {
    auto t = nl::load(x);
    with_numbers = {(t / 4).dtype(), (t / 4.0).dtype(), (2 - t).dtype(), nl::less(t, 1).dtype()};
    auto out = nl::ndarray({2, 2}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    nl::store(out, t);
    return out;
  });
  scalars(numbers(Dtype::f16, {2, 2}));
  EXPECT_EQ(with_numbers, (std::vector<Dtype>{Dtype::f16, Dtype::f32, Dtype::f16, Dtype::u8}));
}

TEST(Language, ArithmeticOfTwoTilesAndOfNumbers) {
  const nki::array a = numbers(Dtype::f32, {3, 4}, 1), b = numbers(Dtype::f32, {3, 4}, 2);
  const auto kernel = nki::jit("all_of_it", [](nl::tensor x, nl::tensor y, int which) {
    auto out = nl::ndarray({3, 4}, {.buffer = nl::shared_hbm});
    auto s = nl::load(x), t = nl::load(y);
    const auto result = [&]() -> nl::tensor {
      switch (which) {
        case 0:
          return s + t;
        case 1:
          return s - t;
        case 2:
          return s * t;
        case 3:
          return nl::maximum(s, t);
        case 4:
          return nl::minimum(s, 2);
        case 5:
          return 5 - s;
        case 6:
          return s / 4;
        case 7:
          return nl::where(nl::greater(s, t), s, 0);
        case 8:
          return nl::square(s);
        case 9:
          return nl::sqrt(nl::abs(s));
        default:
          return nl::equal(s, t);
      }
    };
    nl::store(out, result());
    return out;
  });
  for (int which = 0; which <= 10; ++which) {
    const nki::array y = agreed(kernel, a, b, which);
    ASSERT_EQ(y.size(), 12) << which;
    for (index_t i = 0; i < 12; ++i) {
      const double s = a.at(i), t = b.at(i);
      const double expected[] = {s + t,
                                 s - t,
                                 s * t,
                                 std::max(s, t),
                                 std::min(s, 2.0),
                                 5 - s,
                                 s / 4,
                                 s > t ? s : 0,
                                 s * s,
                                 static_cast<double>(std::sqrt(static_cast<float>(std::abs(s)))),
                                 s == t ? 1.0 : 0.0};
      EXPECT_EQ(y.at(i), expected[which]) << which;
    }
  }
}

TEST(Language, FloatsToIntegersRoundToEvenAndSaturate) {
  nki::array x(Dtype::f32, {1, 6});
  const float values[6] = {0.5F, 1.5F, 2.5F, -7.0F, 300.0F, std::numeric_limits<float>::quiet_NaN()};
  std::copy(values, values + 6, x.data<float>());
  const nki::array y = agreed(one_to_one({1, 6}, Dtype::u8, [](nl::tensor t) { return t; }), x);
  const double expected[6] = {0, 2, 2, 0, 255, 0};
  for (index_t i = 0; i < 6; ++i) EXPECT_EQ(y.at(i), expected[i]);
}

TEST(Language, ExtremaPropagateNanAndKeepTheFirstZero) {
  nki::array x(Dtype::f32, {2, 2});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[4] = {-0.0F, 0.0F, 1.0F, nan};
  std::copy(values, values + 4, x.data<float>());
  const nki::array y = agreed(one_to_one({2}, Dtype::f32, [](nl::tensor t) { return nl::max(t, {.axis = 1}); }), x);
  ASSERT_EQ(y.size(), 2);
  EXPECT_TRUE(y.at(0) == 0 && std::signbit(y.at(0)));
  EXPECT_TRUE(std::isnan(y.at(1)));
}

TEST(Language, MasksOnLoadAndStore) {  // SDK's test of masks: 128x512 -> 64x256
  const auto kernel = nki::jit("mask", [](nl::tensor x) {
    auto out = nl::ndarray({64, 256}, {.buffer = nl::shared_hbm});
    auto i = nl::arange(128)[{nl::all, nl::None}], j = nl::arange(512)[{nl::None, nl::all}];
    auto t = nl::load(x[{i, j}], {.mask = (i < 64) & (j < 256)});
    nl::store(out[{i, j}], {.value = t, .mask = (i < 64) & (j < 256)});
    return out;
  });
  const nki::array y = agreed(kernel, nki::array::arange(Dtype::f32, {128, 512}));
  ASSERT_EQ(y.size(), 64 * 256);
  for (index_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.at(i), static_cast<double>(i / 256 * 512 + i % 256));
}

TEST(Language, ATailOfPartitionsByAMask) {
  const auto kernel = nki::jit("tail", [](nl::tensor x) {
    const int rows = static_cast<int>(x.shape()[0]);
    auto out = nl::ndarray({rows, 3}, {.buffer = nl::shared_hbm});
    auto [p, f] = nl::mgrid(128, 3);
    for (auto p0 : nl::affine_range(0, rows, 128)) {
      auto t = nl::load(x[{p0 + p, f}], {.mask = p0 + p < rows});
      nl::store(out[{p0 + p, f}], {.value = t * 2, .mask = p0 + p < rows});
    }
    return out;
  });
  for (const index_t rows : {1, 127, 128, 129, 300}) {
    const nki::array y = agreed(kernel, nki::array::arange(Dtype::f32, {rows, 3}));
    ASSERT_EQ(y.size(), rows * 3);
    for (index_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.at(i), 2 * static_cast<double>(i));
  }
}

TEST(Language, LoopsKeepTheirOrderAndCarryTiles) {
  const auto kernel = nki::jit("running", [](nl::tensor x) {
    auto out = nl::ndarray({4, 5}, {.buffer = nl::shared_hbm});
    auto total = nl::zeros({4, 1});
    for (auto i : nl::sequential_range(5)) {
      total[{nl::all, nl::all}] = total + nl::load(x[{nl::all, nl::ds(i, 1)}]);
      nl::store(out[{nl::all, nl::ds(i, 1)}], total);
    }
    return out;
  });
  const nki::array x = numbers(Dtype::f32, {4, 5});
  const nki::array y = agreed(kernel, x);
  ASSERT_EQ(y.size(), 20);
  for (index_t p = 0; p < 4; ++p) {
    double total = 0;
    for (index_t i = 0; i < 5; ++i) EXPECT_EQ(y.at(p * 5 + i), total += x.at(p * 5 + i));
  }
  EXPECT_EQ(kernel.trace(x).instructions.size(), 6U);  // the body once: memset, loop, load, add in place, store, end
}

TEST(Language, GridsTellTheirProgramsApart) {  // the tutorial of SPMD: a grid of 4 x 2 adds tiles of 128 x 512
  const auto tensor_add = nki::jit("tensor_add", [](nl::tensor a, nl::tensor b) {
    auto out = nl::ndarray({512, 1024}, {.dtype = a.dtype(), .buffer = nl::shared_hbm});
    auto i = nl::program_id(0) * 128 + nl::arange(128)[{nl::all, nl::None}];
    auto j = nl::program_id(1) * 512 + nl::arange(512)[{nl::None, nl::all}];
    nl::store(out[{i, j}], nl::load(a[{i, j}]) + nl::load(b[{i, j}]));
    return out;
  });
  const nki::array a = numbers(Dtype::bf16, {512, 1024}, 1), b = numbers(Dtype::bf16, {512, 1024}, 2);
  const nki::array y = tensor_add[{4, 2}](a, b);
  for (index_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.at(i), a.at(i) + b.at(i));
  EXPECT_EQ(thrown_by([&] { tensor_add[{4, 1}](a, b); }).id, "err_tensor_output_not_written_to");
  EXPECT_EQ(thrown_by([&] { tensor_add(a, b); }).id, "err_program_id_axis");
}

TEST(Language, IotaAndRepeatedAxes) {
  const auto kernel = nki::jit("iota", [](nl::tensor x) {
    auto out = nl::ndarray({2, 3}, {.dtype = nl::int32, .buffer = nl::shared_hbm});
    auto [p, f] = nl::mgrid(2, 3);
    auto column = nl::load(x);  // [2, 1]
    nl::store(out, nl::iota(10 * p + f) + column);
    return out;
  });
  const nki::array y = agreed(kernel, nki::array::arange(Dtype::i32, {2, 1}));
  ASSERT_EQ(y.size(), 6);
  for (index_t i = 0; i < 6; ++i) EXPECT_EQ(y.at(i), static_cast<double>(11 * (i / 3) + i % 3));
}

TEST(Language, DevicePrintGoesToTheSink) {
  const auto kernel = one_to_one({1, 2}, Dtype::f32, [](nl::tensor t) {
    nl::device_print("tile:", t);
    return t;
  });
  std::vector<std::string> lines;
  const Sink sink = [&](const std::string& line) { lines.push_back(line); };
  const nki::array x = nki::array::arange(Dtype::f32, {1, 2});
  nki::simulate(kernel, nki::native, sink)(x);
  kernel.with({.print = sink})(x);
  EXPECT_EQ(lines, (std::vector<std::string>{"tile: [1x2]: 0 1", "tile: [1x2]: 0 1"}));
  kernel(x);
  EXPECT_EQ(lines.size(), 2U);
}

TEST(Language, AShiftInPlaceReadsBeforeItWrites) {
  const auto kernel = nki::jit("shift", [](nl::tensor x) {
    auto out = nl::ndarray({2, 8}, {.buffer = nl::shared_hbm});
    auto t = nl::load(x);
    t[{nl::all, nl::ds(1, 7)}] = t[{nl::all, nl::ds(0, 7)}] * 1.0;
    nl::store(out, t);
    return out;
  });
  const nki::array y = agreed(kernel, nki::array::arange(Dtype::f32, {2, 8}));
  ASSERT_EQ(y.size(), 16);
  for (index_t i = 0; i < 16; ++i) EXPECT_EQ(y.at(i), static_cast<double>(i % 8 == 0 ? i : i - 1));
}

TEST(Language, AssigningATileThatIsStillNamedCopiesIt) {
  const auto kernel = nki::jit("named", [](nl::tensor x) {
    auto out = nl::ndarray({2, 4}, {.buffer = nl::shared_hbm});
    auto t = nl::zeros({2, 4});
    auto a = nl::load(x) * 2;
    t[{nl::all, nl::all}] = a.assert_shape({2, 4});
    auto b = nl::full({2, 4}, 100);
    b[{nl::all, nl::ds(0, 2)}] = nl::tensor(b[{nl::all, nl::ds(2, 2)}]) + 1;
    nl::store(out, t + a + b);
    return out;
  });
  const nki::array y = agreed(kernel, nki::array::arange(Dtype::f32, {2, 4}));
  ASSERT_EQ(y.size(), 8);
  for (index_t i = 0; i < 8; ++i) EXPECT_EQ(y.at(i), static_cast<double>(4 * i + (i % 4 < 2 ? 101 : 100)));
}

// A condition on an index does not compile.
static_assert(!std::is_constructible_v<bool, nl::index>);
static_assert(!std::is_constructible_v<bool, nl::mask>);
static_assert(!std::is_convertible_v<nl::index, int>);

}  // namespace
}  // namespace oriel::tile::test
