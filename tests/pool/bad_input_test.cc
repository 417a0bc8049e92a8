// Calls that cannot be carried out: one clear error each, and nothing is written.
#include <gtest/gtest.h>

#include <vector>

#include "oriel/pool.h"
#include "support.h"

namespace oriel::test {
namespace {

constexpr index_t kHuge = std::numeric_limits<index_t>::max();

// The error begins with the pool's name and holds each of the words.
void expect_error(const std::string& text, const std::string& prefix, std::initializer_list<const char*> words) {
  EXPECT_EQ(text.substr(0, prefix.size()), prefix) << text;
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << text << " lacks " << word;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

class BadInput : public testing::Test {
 protected:
  std::vector<float> x = std::vector<float>(16, 1), y = std::vector<float>(4, 7), dx = std::vector<float>(16, 7);
  std::vector<std::int64_t> indices = std::vector<std::int64_t>(4, 0);
  const Pool pool{.windows = {.kernel = {2}}};
  const Pool average{.op = Op::avg, .windows = {.kernel = {2}}};

  ConstTensor input() const { return {x.data(), {4, 4}}; }
  Tensor output() { return {y.data(), {2, 2}}; }
  Tensor places() { return {indices.data(), {2, 2}}; }
  Tensor gradient() { return {dx.data(), {4, 4}}; }

  // A refused call has written nothing.
  void TearDown() override {
    EXPECT_EQ(y, std::vector<float>(4, 7));
    EXPECT_EQ(dx, std::vector<float>(16, 7));
  }
};

TEST_F(BadInput, PoolsThatCannotBe) {
  const auto call = [&](const Pool& p) { return message([&] { forward(p, {.x = input(), .y = output()}); }); };
  expect_error(call({.windows = {.kernel = {0}}}), "max_pool: kernel must be >= 1", {"axis 0 has 0"});
  expect_error(call({.windows = {.kernel = {2}, .stride = {0}}}), "max_pool: stride must be >= 1", {"axis 0 has 0"});
  expect_error(call({.windows = {.kernel = {2}, .pad_lo = {-1}}}), "max_pool: padding must be >= 0", {"-1"});
  expect_error(call({.windows = {.kernel = {2}, .axes = {1, 1}}}), "max_pool: axes", {"twice"});
  expect_error(call({.windows = {.kernel = {2}, .axes = {5}}}), "max_pool: axes", {"5"});
  expect_error(call({.windows = {.kernel = {2, 2, 2}}}), "max_pool: kernel must have 1 value or one per", {"(2)", "3"});
  expect_error(call({.windows = {.kernel = {9}}}), "max_pool: the window must fit", {"9", "4"});
  expect_error(call({.windows = {.kernel = {2}, .pad_lo = {kHuge}}}), "max_pool: ", {"2^63"});
  expect_error(message([&] {
                 forward(pool, {.x = ConstTensor(x.data(), {4, 0}), .y = Tensor(y.data(), {2, 0})});
               }),
               "max_pool: pooled axes", {"axis 1 has 0"});
  expect_error(message([&] { output_shape({.op = Op::lp, .windows = {.kernel = {2}}, .norm = 0}, {4}); }),
               "lp_pool: norm", {"0"});
}

TEST_F(BadInput, OutputsThatDoNotFit) {
  const auto call = [&](const Tensor& out) { return message([&] { forward(pool, {.x = input(), .y = out}); }); };
  expect_error(call({y.data(), {2, 3}}), "max_pool: ", {"2x2", "2x3"});
  expect_error(call({y.data(), {4}}), "max_pool: ", {"2x2", "4"});
  expect_error(call({y.data(), Dtype::i32, {2, 2}}), "max_pool: ", {"f32", "i32"});
  expect_error(call({y.data(), Dtype::f32, {2, 2}, {1, 1}}), "max_pool: ", {});  // two elements in one place
  expect_error(call({y.data(), Dtype::f32, {2, 2}, {0, 1}}), "max_pool: ", {});
  expect_error(call({x.data(), {2, 2}}), "max_pool: ", {});  // over the input
  expect_error(call({x.data() + 15, {2, 2}}), "max_pool: ", {});
  expect_error(call({nullptr, Dtype::f32, {2, 2}}), "max_pool: ", {});
  Tensor wrong = output();
  wrong.pitch = {1};
  EXPECT_NE(call(wrong), "(no error)");
  Tensor elsewhere = output();
  elsewhere.device = Device::cuda;
  expect_error(call(elsewhere), "max_pool: ", {});
}

TEST_F(BadInput, ArraysThatAreNotTheProblems) {
  const Problem problem = make_problem(pool, Dtype::f32, {4, 4});
  const auto call = [&](const ConstTensor& from, const Tensor& to) {
    return message([&] { forward(problem, {.x = from, .y = to}); });
  };
  expect_error(call(ConstTensor(x.data(), {2, 8}), output()), "max_pool: x must have shape 4x4", {"2x8"});
  expect_error(call(input(), Tensor(y.data(), {1, 4})), "max_pool: y must have shape 2x2", {"1x4"});
  expect_error(call(ConstTensor(indices.data(), {2, 2}), output()), "max_pool: x must have dtype f32", {"i64"});
  expect_error(call(input(), Tensor(x.data(), {2, 2})), "max_pool: x and y must not share memory", {});
}

TEST_F(BadInput, InputsThatCannotBeRead) {
  const auto call = [&](const ConstTensor& in) { return message([&] { forward(pool, {.x = in, .y = output()}); }); };
  expect_error(call({nullptr, Dtype::f32, {4, 4}}), "max_pool: ", {});
  ConstTensor wrong = input();
  wrong.pitch = {1, 2, 3};
  EXPECT_NE(call(wrong), "(no error)");
  wrong = input();
  wrong.shape = {4, -4};
  EXPECT_NE(call(wrong), "(no error)");
  wrong = input();
  wrong.pitch = {kHuge, 1};
  EXPECT_NE(call(wrong), "(no error)");
  wrong = input();
  wrong.dtype = static_cast<Dtype>(99);
  EXPECT_NE(call(wrong), "(no error)");
}

TEST_F(BadInput, IndicesThatDoNotFit) {
  const auto call = [&](const Pool& p, const Tensor& out) {
    return message([&] { forward(p, {.x = input(), .y = output(), .indices = out}); });
  };
  std::vector<std::int32_t> narrow(4);
  expect_error(call(average, places()), "avg_pool: ", {"max", "min"});
  expect_error(call(pool, {indices.data(), {4}}), "max_pool: ", {"2x2", "4"});
  expect_error(call(pool, {narrow.data(), {2, 2}}), "max_pool: ", {"i64", "i32"});
  expect_error(call(pool, {indices.data(), Dtype::i64, {2, 2}, {0, 1}}), "max_pool: ", {});
  expect_error(call(pool, {y.data(), Dtype::i64, {2, 2}}), "max_pool: ", {});  // over the output
}

TEST_F(BadInput, GradientsThatDoNotFit) {
  const ConstTensor dy(y.data(), {2, 2});
  std::vector<std::int32_t> whole(16, 1);
  const ConstTensor whole_x(whole.data(), {4, 4}), whole_dy(whole.data(), {2, 2});
  std::vector<std::int32_t> out(16);
  const Tensor whole_dx(out.data(), {4, 4});
  expect_error(message([&] { backward(average, {.x = whole_x, .dy = whole_dy, .dx = whole_dx}); }),
               "avg_pool backward: ", {"i32"});
  expect_error(message([&] { backward(average, {.dy = whole_dy, .dx = whole_dx}); }), "avg_pool backward: ", {"i32"});
  expect_error(message([&] {
                 backward({.op = Op::lp, .windows = {.kernel = {2}}}, {.x = whole_x, .dy = whole_dy, .dx = whole_dx});
               }),
               "lp_pool backward: ", {"i32"});
  expect_error(message([&] { backward(pool, {.dy = dy, .dx = gradient()}); }),
               "max_pool backward: ", {});  // needs x or indices
  expect_error(message([&] { backward({.op = Op::lp, .windows = {.kernel = {2}}}, {.dy = dy, .dx = gradient()}); }),
               "lp_pool backward: ", {});
  expect_error(message([&] { backward(average, {.dy = ConstTensor(y.data(), {4}), .dx = gradient()}); }),
               "avg_pool backward: ", {"2x2", "4"});
  expect_error(message([&] { backward(average, {.dy = whole_dy, .dx = gradient()}); }),
               "avg_pool backward: ", {"f32", "i32"});
  expect_error(message([&] {
                 backward(pool, {.x = ConstTensor(x.data(), {4, 3}), .dy = dy, .dx = gradient()});
               }),
               "max_pool backward: ", {"4x3", "4x4"});
  expect_error(message([&] {
                 backward(average, {.dy = ConstTensor(dx.data(), {2, 2}), .dx = gradient()});
               }),
               "avg_pool backward: ", {});
  expect_error(message([&] { backward(average, {.dy = dy, .indices = places(), .dx = gradient()}); }),
               "avg_pool backward: ", {"max", "min"});
  const Pool omitting{.op = Op::avg, .windows = {.kernel = {2}}, .nan = NanPolicy::omit};
  expect_error(message([&] { backward(omitting, {.dy = dy, .dx = gradient()}); }), "avg_pool backward: ", {});
}

TEST_F(BadInput, IndicesOutOfRange) {
  const ConstTensor dy(y.data(), {2, 2});
  indices = {0, 16, 0, 0};
  expect_error(message([&] { backward(pool, {.dy = dy, .indices = places(), .dx = gradient()}); }),
               "max_pool backward: ", {"16"});
  expect_error(
      message([&] { backward(pool, {.dy = dy, .indices = places(), .space = IndexSpace::tensor, .dx = gradient()}); }),
      "max_pool backward: ", {"16"});
  expect_error(
      message([&] { backward(pool, {.dy = dy, .indices = places(), .space = IndexSpace::window, .dx = gradient()}); }),
      "max_pool backward: ", {"16"});
  expect_error(message([&] { unpool({}, {.y = dy, .indices = places(), .x = gradient()}); }), "unpool: ", {"16"});
  expect_error(
      message([&] { unpool({}, {.y = dy, .indices = places(), .space = IndexSpace::tensor, .x = gradient()}); }),
      "unpool: ", {"16"});
  for (std::int64_t below : {-2, -100}) {  // -1 alone says that there was no tap
    indices = {0, below, 0, 0};
    const std::string number = std::to_string(below);
    expect_error(message([&] { unpool({}, {.y = dy, .indices = places(), .x = gradient()}); }),
                 "unpool: ", {number.c_str()});
    expect_error(message([&] {
                   backward(pool, {.dy = dy, .indices = places(), .space = IndexSpace::tensor, .dx = gradient()});
                 }),
                 "max_pool backward: ", {number.c_str()});
  }
  indices = {0, 0, 0, 0};  // of another window than the output's
  expect_error(message([&] { backward(pool, {.dy = dy, .indices = places(), .dx = gradient()}); }),
               "max_pool backward: ", {"(0, 1)"});
  indices = {0, kHuge, 0, 0};
  expect_error(message([&] { unpool({}, {.y = dy, .indices = places(), .x = gradient()}); }),
               "unpool: ", {"9223372036854775807"});
  const Pool apart{
      .windows = {.kernel = {2}, .stride = {1}, .dilation = {3}, .axes = {0}}};  // whose taps reach further
  const ConstTensor row(y.data(), {1, 4}), far(indices.data(), {1, 4});
  expect_error(
      message([&] { backward(apart, {.dy = row, .indices = far, .space = IndexSpace::window, .dx = gradient()}); }),
      "max_pool backward: ", {"9223372036854775807"});
}

TEST_F(BadInput, Codes) {
  std::vector<std::uint8_t> codes(4, 0);
  std::vector<std::int32_t> wide(4, 0);
  std::vector<std::int16_t> other(4, 0);
  const Tensor small(codes.data(), {2, 2});
  const auto call = [&](const Pool& p, const Tensor& i, IndexSpace space) {
    return message([&] { forward(p, {.x = input(), .y = output(), .indices = i, .space = space}); });
  };
  expect_error(call(pool, small, IndexSpace::plane), "max_pool: indices of dtype u8", {"space is plane", "i64"});
  expect_error(call(pool, Tensor(wide.data(), {2, 2}), IndexSpace::tensor), "max_pool: indices of dtype i32",
               {"space is tensor", "i64"});
  expect_error(call(pool, Tensor(other.data(), {2, 2}), IndexSpace::window), "max_pool: indices must have dtype i64",
               {"u8", "i32", "i16"});
  expect_error(call(pool, Tensor(codes.data(), {4}), IndexSpace::window), "max_pool: indices must have shape 2x2",
               {"4"});
  expect_error(call(pool, Tensor(codes.data(), Dtype::u8, {2, 2}, {0, 1}), IndexSpace::window),
               "max_pool: indices is written", {"0x1"});
  // 256 taps are one too many for u8.
  std::vector<float> many(256);
  float most = 0;
  const Pool global{.op = Op::max, .windows = {.kind = WindowKind::global}};
  expect_error(message([&] {
                 forward(global, {.x = ConstTensor(many.data(), {256}),
                                  .y = Tensor(&most, {1}),
                                  .indices = Tensor(codes.data(), {1}),
                                  .space = IndexSpace::window});
               }),
               "max_pool: indices of dtype u8", {"at most 255 taps", "256"});
  const ConstTensor dy(y.data(), {2, 2});
  codes = {0, 4, 0, 0};
  expect_error(
      message([&] { backward(pool, {.dy = dy, .indices = small, .space = IndexSpace::window, .dx = gradient()}); }),
      "max_pool backward: indices must be of a tap", {"(0, 1)", "4"});
  dx.assign(16, 7);  // from u8 codes it may hold anything (S10)
  wide = {0, 0, -2, 0};
  expect_error(
      message([&] {
        backward(
            pool,
            {.dy = dy, .indices = ConstTensor(wide.data(), {2, 2}), .space = IndexSpace::window, .dx = gradient()});
      }),
      "max_pool backward: indices must be of a tap", {"(1, 0)", "-2"});
  expect_error(message([&] { backward(pool, {.dy = dy, .indices = small, .dx = gradient()}); }),
               "max_pool backward: indices of dtype u8", {"space is plane"});
  expect_error(message([&] { unpool({}, {.y = dy, .indices = small, .x = gradient()}); }),
               "unpool: indices must have dtype i64", {"u8"});
}

TEST_F(BadInput, Unpool) {
  const ConstTensor from(y.data(), {2, 2});
  const auto call = [&](const ConstTensor& y_, const ConstTensor& i, IndexSpace space, const Extents& axes,
                        const Tensor& to) {
    const std::string text = message([&] { unpool(axes, {.y = y_, .indices = i, .space = space, .x = to}); });
    EXPECT_NE(text, "(no error)");
    EXPECT_EQ(text.find("unpool: "), 0U) << text;
  };
  call(from, places(), IndexSpace::window, {}, gradient());  // a tap of which window?
  call(from, places(), IndexSpace::plane, {2}, gradient());
  call(from, places(), IndexSpace::plane, {0, 0}, gradient());
  call(from, places(), IndexSpace::plane, {0}, gradient());  // axis 1 is not pooled, but differs
  call(from, ConstTensor(indices.data(), {4}), IndexSpace::plane, {}, gradient());
  call(from, ConstTensor(y.data(), {2, 2}), IndexSpace::plane, {}, gradient());
  call(from, places(), IndexSpace::plane, {}, Tensor(dx.data(), {16}));
  call(ConstTensor(indices.data(), {2, 2}), places(), IndexSpace::plane, {}, gradient());
  call(ConstTensor(dx.data(), {2, 2}), places(), IndexSpace::plane, {}, gradient());
}

TEST_F(BadInput, ThreadsBelowZero) {
  EXPECT_NE(message([&] { forward(pool, {.x = input(), .y = output()}, {.threads = -1}); }), "(no error)");
}

}  // namespace
}  // namespace oriel::test
