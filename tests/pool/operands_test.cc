// What the types of the functions allow: operands by name, tensors of ranges and of mdspans, your own reductions,
// errors in parts.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "oriel/pool.h"
#include "support.h"

namespace oriel::test {
namespace {

// Whether operands can be made of a list of tensors without names.
template <class Operands, class... Tensors>
concept MadeByPlace = requires(Tensors... tensors) {
  Operands{tensors...};
};
template <class Operands, class... Tensors>
concept MadeAfterEmpty = requires(Tensors... tensors) {
  Operands{{}, tensors...};
};

static_assert(!MadeByPlace<ForwardOperands, ConstTensor, Tensor>);
static_assert(!MadeByPlace<BackwardOperands, ConstTensor, ConstTensor, Tensor>);
static_assert(!MadeByPlace<UnpoolOperands, ConstTensor, ConstTensor, IndexSpace, Tensor>);
static_assert(!MadeAfterEmpty<BackwardOperands, ConstTensor, ConstTensor>);

// Tensors to write are not made of const elements or of a temporary container.
static_assert(std::is_constructible_v<Tensor, std::vector<float>&, Extents>);
static_assert(std::is_constructible_v<Tensor, std::span<float>, Extents>);
static_assert(!std::is_constructible_v<Tensor, const std::vector<float>&, Extents>);
static_assert(!std::is_constructible_v<Tensor, std::span<const float>, Extents>);
static_assert(!std::is_constructible_v<Tensor, std::vector<float>, Extents>);
static_assert(!std::is_constructible_v<Tensor, const float*, Extents>);
static_assert(!std::is_constructible_v<ConstTensor, std::vector<bool>&, Extents>);
static_assert(std::is_constructible_v<ConstTensor, std::vector<float>, Extents>);  // within one expression

TEST(Tensors, OfRanges) {
  std::vector<float> x = {1, 5, 2, 0, 3, 4};
  std::array<float, 2> y{};
  forward({.windows = {.kernel = {3}, .axes = {1}}}, {.x = {x, {2, 3}}, .y = {y, {2, 1}}});
  EXPECT_EQ(y, (std::array<float, 2>{5, 4}));
  const std::span<const float> middle(x.data() + 1, 4);
  const ConstTensor part(middle, {2, 2});
  EXPECT_EQ(part.data, x.data() + 1);
  EXPECT_EQ(part.dtype, Dtype::f32);
  EXPECT_EQ(part.pitch, (Extents{2, 1}));
}

TEST(Tensors, OfRangesOfAnotherNumberOfElements) {
  std::vector<double> x(6);
  EXPECT_EQ(message([&] {
              return ConstTensor(x, {2, 4});
            }),
            "tensor: must have 8 elements for the shape 2x4, but the range has 6");
  EXPECT_EQ(message([&] { return Tensor(x, {5}); }),
            "tensor: must have 5 elements for the shape 5, but the range has 6");
  EXPECT_EQ(message([&] { return ConstTensor(x, {-1}); }), "tensor: extents must be >= 0, but axis 0 has -1");
}

// What std::mdspan with layout_stride has.
template <class T>
struct Strided {
  using element_type = T;
  using rank_type = std::size_t;

  T* data;
  std::array<int, 2> extents, strides;

  static constexpr rank_type rank() { return 2; }
  int extent(rank_type r) const { return extents[r]; }
  int stride(rank_type r) const { return strides[r]; }
  T* data_handle() const { return data; }
};

static_assert(StridedView<Strided<float>> && StridedView<Strided<const half>>);
static_assert(!StridedView<std::vector<float>> && !StridedView<Strided<std::string>>);
static_assert(!std::is_constructible_v<Tensor, Strided<const float>>);

TEST(Tensors, OfMdspans) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> y(2);
  const Strided<const float> every_other{x.data() + 1, {2, 2}, {4, 2}};  // 2 4 / 6 8
  const Strided<float> to{y.data(), {2, 1}, {1, 1}};
  forward({.op = Op::sum, .windows = {.kernel = {2}, .axes = {1}}}, {.x = ConstTensor(every_other), .y = Tensor(to)});
  EXPECT_EQ(y, (std::vector<float>{6, 14}));
}

TEST(Tensors, ThatAreNotThere) {
  EXPECT_FALSE(ConstTensor().given());
  EXPECT_FALSE(Tensor().given());
  EXPECT_TRUE(ConstTensor(static_cast<const float*>(nullptr), {0}).given());
  const std::vector<float> x(4);
  std::vector<float> y(2), dx(4);
  const Pool pool{.windows = {.kernel = {2}}};
  EXPECT_EQ(message([&] { forward(pool, {.y = {y, {2}}}); }), "max_pool: x must be given");
  EXPECT_EQ(message([&] { forward(pool, {.x = {x, {4}}}); }), "max_pool: y must be given");
  EXPECT_EQ(message([&] { backward(pool, {.x = {x, {4}}, .dx = {dx, {4}}}); }), "max_pool backward: dy must be given");
  EXPECT_EQ(message([&] { backward(pool, {.x = {x, {4}}, .dy = {y, {2}}}); }), "max_pool backward: dx must be given");
  EXPECT_EQ(message([&] {
              backward(pool, {.dy = {y, {2}}, .dx = {dx, {4}}});
            }),
            "max_pool backward: x must be given, or indices");
  EXPECT_EQ(message([&] { unpool({}, {.y = {y, {2}}, .x = {dx, {4}}}); }), "unpool: indices must be given");
}

struct Product {
  using Input = float;
  using Accumulator = double;
  using Output = float;
  static double identity() { return 1; }
  static double lift(float x) { return x; }
  static double combine(double a, double b) { return a * b; }
  static float lower(double a, WindowCount count) {
    return static_cast<float>(a) + static_cast<float>(100 * count.taps + 1000 * count.padded);
  }
};
struct WithoutIdentity : Product {
  static double identity() = delete;
};
struct OfStrings : Product {
  using Input = std::string;
};
struct TooLarge : Product {
  using Accumulator = std::array<double, 9>;
};

static_assert(Reduction<Product>);
static_assert(!Reduction<WithoutIdentity> && !Reduction<OfStrings> && !Reduction<TooLarge> && !Reduction<int>);

TEST(UserReduction, CountsTapsWithAndWithoutPadding) {
  const std::vector<float> x = {2, 3, 5};
  std::vector<float> y(3);
  forward<Product>({.kernel = {3}, .stride = {1}, .pad_lo = {1}}, {.x = {x, {3}}, .y = {y, {3}}});
  EXPECT_EQ(y, (std::vector<float>{6 + 200 + 3000, 30 + 300 + 3000, 15 + 200 + 3000}));
}

TEST(UserReduction, Errors) {
  std::vector<float> x(4), y(2);
  std::vector<double> other(4);
  std::vector<std::int64_t> places(2);
  const Windows two{.kernel = {2}};
  EXPECT_EQ(message([&] {
              forward<Product>(two, {.x = {other, {4}}, .y = {y, {2}}});
            }),
            "forward: x must have dtype f32, but has f64");
  EXPECT_EQ(message([&] {
              forward<Product>({.kernel = {0}}, {.x = {x, {4}}, .y = {y, {2}}});
            }),
            "forward: kernel must be >= 1, but axis 0 has 0");
  EXPECT_EQ(message([&] {
              forward<Product>(two, {.x = {x, {4}}, .y = {y, {2}}, .indices = {places, {2}}});
            }),
            "forward: indices exist for max and min only, but this is a reduction of your own");
}

TEST(Errors, HaveFields) {
  try {
    make_problem({.op = Op::avg, .windows = {.kernel = {2}, .stride = {0}}}, Dtype::f32, {4});
    FAIL() << "no error";
  } catch (const Error& e) {
    ASSERT_NE(e.fields(), nullptr);
    EXPECT_EQ(e.fields()->function, "avg_pool");
    EXPECT_EQ(e.fields()->argument, "stride");
    EXPECT_EQ(e.fields()->allowed, "must be >= 1");
    EXPECT_EQ(e.fields()->value, "axis 0 has 0");
    EXPECT_STREQ(e.what(), "avg_pool: stride must be >= 1, but axis 0 has 0");
    const Error copy = e;  // NOLINT(performance-unnecessary-copy-initialization): copies keep the fields
    EXPECT_EQ(copy.fields(), e.fields());
  }
  EXPECT_EQ(Error("a text").fields(), nullptr);
}

}  // namespace
}  // namespace oriel::test
