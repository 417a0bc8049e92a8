// What handlers for XLA answer to calls that are right, wrong, or ask what they are.
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <utility>

#include "oriel/pool.h"
#include "python/src/pool_words.h"
#include "python/src/xla_call.h"
#include "python/xla_frame.h"

extern "C" oriel::python::xla_abi::Handler oriel_pool, oriel_pool_wrapped, oriel_pool_indices, oriel_pool_pick,
    oriel_pool_backward_linear, oriel_pool_backward;
extern "C" const int oriel_pool_interface[2];

namespace oriel::test {
namespace {

const Extents kIn = {2, 6}, kOut = {2, 3};

std::vector<index_t> words(Op op, const Extents& kernel = {2}) {
  return python::to_words({.op = op, .windows = {.kernel = kernel, .axes = {-1}}});
}

class XlaCall : public testing::Test {
 protected:
  XlaCall() {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i * 5 % 7);
  }

  Frame frame() {
    Frame f;
    f.input(ConstTensor(x_.data(), kIn)).result(Tensor(y_.data(), kOut));
    return f;
  }
  // The message of a call that must be refused, and must have written nothing.
  std::string refusal(Frame& f, xla::Handler* handler = &oriel_pool) {
    const Answer answer = f.call(handler);
    EXPECT_EQ(answer.code, xla::ErrorCode::invalid_argument) << answer.message;
    EXPECT_EQ(y_, std::vector<float>(6));
    return answer.message;
  }
  std::string refusal(Frame&& f) { return refusal(f); }

  std::vector<float> x_ = std::vector<float>(12), y_ = std::vector<float>(6);
};

TEST_F(XlaCall, Pools) {
  std::vector<float> expected(6);
  forward({.op = Op::max, .windows = {.kernel = {2}, .axes = {-1}}},
          {.x = ConstTensor(x_.data(), kIn), .y = Tensor(expected.data(), kOut)});
  EXPECT_EQ(frame().array("words", words(Op::max)).call(&oriel_pool).message, "");
  EXPECT_EQ(y_, expected);
}

TEST_F(XlaCall, PoolsOverValidTaps) {
  const Pool pool{.op = Op::quantile,
                  .windows = {.kernel = {2}, .axes = {-1}},
                  .nan = NanPolicy::omit,
                  .footprint = {.shape = {2}, .taps = {0, 1}},
                  .fill = 7.5,
                  .q = {0.25},
                  .method = Quantile::linear};
  std::vector<float> expected(6);
  x_[3] = std::numeric_limits<float>::quiet_NaN();
  forward(pool, {.x = ConstTensor(x_.data(), kIn), .y = Tensor(expected.data(), kOut)});
  EXPECT_EQ(expected[1], 7.5F);
  EXPECT_EQ(frame().array("words", python::to_words(pool)).call(&oriel_pool).message, "");
  EXPECT_EQ(y_, expected);
}

TEST(PoolWords, KeepEveryOption) {
  const Pool plain{.op = Op::max, .windows = {.kernel = {2, 3}, .axes = {-2, -1}}};
  std::vector<Pool> pools(14, plain);
  pools[1].footprint = {.shape = {2, 3}, .taps = {1, 0, 1, 0, 1, 0}};
  pools[2].nodata = std::int64_t{-1};
  pools[3].nodata = ~std::uint64_t{0};  // the same bits
  pools[4].nodata = -1.0;
  pools[5].min_count = 3;
  pools[6].min_fraction = 0.5;
  pools[7].fill = 2.5;
  pools[8].result_dtype = Dtype::f64;
  pools[9].q = {0.25, 0.5};
  pools[10].rank = -2;
  pools[11].method = Quantile::scipy;
  pools[12].tie = Tie::first;
  pools[12].ignore = std::int64_t{0};
  pools[13].op = Op::soft;
  pools[13].ddof = 1;
  pools[13].sharpness = 4;
  pools[13].sum_of_exponentials = true;
  for (const Pool& pool : pools) {
    const std::vector<index_t> words = python::to_words(pool);
    EXPECT_EQ(python::from_words(words), pool);
    EXPECT_EQ(words.front(), pool == plain ? 1 : 2);  // those without options are as programs were exported with before
    for (std::size_t n = 0; n < words.size(); ++n)
      EXPECT_THROW(python::from_words(std::span(words).first(n)), Error) << n;
  }
}

TEST(PoolWords, RefuseWhatIsOutOfRange) {
  Pool pool{.op = Op::median, .windows = {.kernel = {2}, .axes = {-1}}};
  pool.min_count = 1;
  const std::vector<index_t> words = python::to_words(pool);
  for (const std::size_t at : {1U, 2U, 3U, 4U, 5U, 6U, 9U, 19U, 20U, 21U, 22U, 24U, 25U, 26U, 27U}) {
    std::vector<index_t> wrong = words;
    wrong[at] = index_t{1} << 40;
    EXPECT_THROW(python::from_words(wrong), Error) << at;
  }
}

TEST_F(XlaCall, IndicesOf32And64Bits) {
  std::vector<std::int32_t> narrow(6);
  std::vector<index_t> wide(6);
  const auto ask = [&](const Tensor& indices) {
    return frame().result(indices).scalar("space", 1).array("words", words(Op::max)).call(&oriel_pool_indices).message;
  };
  EXPECT_EQ(ask(Tensor(narrow.data(), kOut)), "");
  EXPECT_EQ(ask(Tensor(wide.data(), kOut)), "");
  EXPECT_EQ(std::vector<index_t>(narrow.begin(), narrow.end()), wide);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(x_[static_cast<std::size_t>(wide[i])], y_[i]);
  EXPECT_EQ(ask(Tensor(x_.data(), kOut)), "pool: indices must be i32 or i64, but are f32");
}

TEST_F(XlaCall, GradientsAndPickedElements) {
  std::vector<float> dx(12), picked(6);
  std::vector<float> dy = {1, 2, 3, 4, 5, 6};
  const ConstTensor x(x_.data(), kIn), gradient(dy.data(), kOut);
  const auto sum = [](const std::vector<float>& values) {
    float total = 0;
    for (const float v : values) total += v;
    return total;
  };
  EXPECT_EQ(Frame()
                .input(gradient)
                .result(Tensor(dx.data(), kIn))
                .array("words", words(Op::sum))
                .call(&oriel_pool_backward_linear)
                .message,
            "");
  EXPECT_EQ(sum(dx), 42);
  EXPECT_EQ(Frame()
                .input(x)
                .input(gradient)
                .result(Tensor(dx.data(), kIn))
                .array("words", words(Op::max))
                .call(&oriel_pool_backward)
                .message,
            "");
  EXPECT_EQ(sum(dx), 21);
  EXPECT_EQ(Frame()
                .input(x)
                .input(x)
                .result(Tensor(picked.data(), kOut))
                .array("words", words(Op::max))
                .call(&oriel_pool_pick)
                .message,
            "");
  EXPECT_EQ(frame().array("words", words(Op::max)).call(&oriel_pool).message, "");
  EXPECT_EQ(picked, y_);
}

TEST_F(XlaCall, IntegerSumsWrap) {
  const std::vector<std::int8_t> x = {100, 100, 1, 2, -100, -100, 0, 0, 0, 0, 0, 0};
  std::vector<std::int8_t> y(6);
  EXPECT_EQ(Frame()
                .input(ConstTensor(x.data(), kIn))
                .result(Tensor(y.data(), kOut))
                .array("words", words(Op::sum))
                .call(&oriel_pool_wrapped)
                .message,
            "");
  EXPECT_EQ(y, (std::vector<std::int8_t>{-56, 3, 56, 0, 0, 0}));
}

TEST_F(XlaCall, OperandsAreCounted) {
  EXPECT_EQ(refusal(Frame().result(Tensor(y_.data(), kOut)).array("words", words(Op::max))),
            "oriel_pool: the number of inputs must be 1, but is 0");
  EXPECT_EQ(refusal(frame().array("words", words(Op::max)), &oriel_pool_pick),
            "oriel_pool_pick: the number of inputs must be 2, but is 1");
  EXPECT_EQ(refusal(frame().array("words", words(Op::max)), &oriel_pool_indices),
            "oriel_pool_indices: the number of results must be 2, but is 1");
}

TEST_F(XlaCall, AttributesAreCheckedByName) {
  EXPECT_EQ(refusal(frame()), "oriel_pool: the attributes must be words alone, but are none");
  EXPECT_EQ(refusal(frame().array("word", words(Op::max))),
            "oriel_pool: the attributes must be words alone, but are word");
  EXPECT_EQ(refusal(frame().scalar("space", 0).array("words", words(Op::max))),
            "oriel_pool: the attributes must be words alone, but are space, words");
  const auto indexed = [&] { return std::move(frame().result(Tensor(y_.data(), kOut))); };
  EXPECT_EQ(refusal(indexed().array("words", words(Op::max)), &oriel_pool_indices),
            "oriel_pool_indices: the attributes must be space and words, but are words");
  EXPECT_EQ(refusal(indexed().array("words", words(Op::max)).array("words", {}), &oriel_pool_indices),
            "oriel_pool_indices: the attributes must be space and words, but are words, words");
}

TEST_F(XlaCall, AttributesHaveTheirTypes) {
  EXPECT_EQ(refusal(frame().scalar("words", 1)),
            "oriel_pool: words must be an array of int64, but XLA's number of its type is 3");
  EXPECT_EQ(refusal(frame().array("words", words(Op::max), xla::DataType::i32)),
            "oriel_pool: words must be an array of int64, but XLA's number of its elements' type is 4");
  const auto space = [&](auto add) {
    Frame f = frame();
    std::vector<index_t> indices(6);
    f.result(Tensor(indices.data(), kOut));
    add(f);
    return refusal(f.array("words", words(Op::max)), &oriel_pool_indices);
  };
  EXPECT_EQ(space([](Frame& f) { f.array("space", {0}); }),
            "oriel_pool_indices: space must be an int32, but XLA's number of its type is 1");
  EXPECT_EQ(space([](Frame& f) { f.scalar("space", 0, xla::DataType::f32); }),
            "oriel_pool_indices: space must be an int32, but XLA's number of its type is 11");
  for (const std::int32_t number : {-1, 3}) {
    EXPECT_EQ(
        space([&](Frame& f) { f.scalar("space", number); }),
        "oriel_pool_indices: space must be 0 (plane), 1 (tensor) or 2 (window), but is " + std::to_string(number));
  }
}

TEST_F(XlaCall, WordsAreChecked) {
  EXPECT_EQ(refusal(frame().array("words", {})), "pool words: there must be more words, but they end");
  EXPECT_EQ(refusal(frame().array("words", {-1})), "pool words: they come from another version of oriel");
  std::vector<index_t> long_one = words(Op::max);
  long_one.push_back(0);
  EXPECT_EQ(refusal(frame().array("words", long_one)), "pool words: there are words after the last");
}

TEST_F(XlaCall, BuffersAreChecked) {
  Frame complex = frame();
  complex.array("words", words(Op::max)).buffer().dtype = static_cast<xla::DataType>(15);
  EXPECT_EQ(refusal(complex),
            "oriel_pool: result 0 must have elements that can be pooled (floats of 16 to 64 bits, integers of 8 to 64 "
            "bits, booleans), but XLA's number of their type is 15");
  std::vector<std::int64_t> dims(17, 1);
  Frame deep = frame();
  deep.array("words", words(Op::max)).buffer().rank = 17;
  deep.buffer().dims = dims.data();
  EXPECT_EQ(refusal(deep), "oriel_pool: result 0 must have at most 16 axes, but has 17");
}

// Sanitizers end a program that wants so much.
#if defined(__SANITIZE_ADDRESS__)
#define ORIEL_SANITIZED 1
#elif defined(__has_feature)
#define ORIEL_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#endif
#if !ORIEL_SANITIZED
TEST_F(XlaCall, MemoryThatThereIsNot) {
  Frame f;
  const Extents huge = {index_t{1} << 50};
  const ConstTensor x(x_.data(), huge);
  f.input(x).input(x).result(Tensor(y_.data(), huge)).array("words", words(Op::max, {1}));
  const Answer answer = f.call(&oriel_pool_pick);
  EXPECT_EQ(answer.message, "pool: out of memory");
  EXPECT_EQ(answer.code, xla::ErrorCode::resource_exhausted);
}
#endif

TEST_F(XlaCall, ActsInItsStageOnly) {
  Frame f;
  f.input(ConstTensor(x_.data(), kIn)).result(Tensor(y_.data(), kOut)).array("words", words(Op::max));
  for (const xla::Stage stage : {xla::Stage::instantiate, xla::Stage::prepare, xla::Stage::initialize}) {
    const Answer answer = f.call(&oriel_pool, [&](xla::CallFrame& frame) { frame.stage = stage; });
    EXPECT_EQ(answer.message,
              "oriel_pool: the stage must be 3 (execute), but is " + std::to_string(static_cast<int>(stage)));
  }
  EXPECT_EQ(f.call(&oriel_pool, [](xla::CallFrame& frame) { frame.struct_size -= 8; }).message,
            "oriel_pool: XLA's call frame must have at least 168 bytes, but has 160");
  EXPECT_EQ(y_, std::vector<float>(6));
  EXPECT_EQ(f.call(&oriel_pool, [](xla::CallFrame& frame) { frame.struct_size += 8; }).message, "");
}

// What a handler says of itself to an XLA of that version; null: to one that does not say its own.
xla::Metadata described(const int* minor, std::size_t struct_size = xla::kSize<xla::Metadata>) {
  xla::Metadata metadata{struct_size, {xla::kSize<xla::Version>, nullptr, -1, -1}, 77};
  xla::MetadataExtension asked{{xla::kSize<xla::MetadataExtension>, xla::ExtensionType::metadata, nullptr}, &metadata};
  xla::Extension another{xla::kSize<xla::Extension>, static_cast<xla::ExtensionType>(9), &asked.base};
  Frame f;
  if (minor != nullptr) f.api.version.minor = *minor;
  const Answer answer = f.call(&oriel_pool, [&](xla::CallFrame& frame) {
    frame.extensions = minor != nullptr && *minor > 3 ? &another : &asked.base;
    if (minor == nullptr) frame.api = nullptr;
  });
  EXPECT_EQ(answer.message, "");
  return metadata;
}

TEST(XlaMetadata, IsOfTheNewestVersionThatBothSidesHave) {
  EXPECT_EQ(described(nullptr).version.minor, 1);
  for (const auto& [theirs, common] : {std::pair{1, 1}, {2, 2}, {3, 3}, {4, 3}, {40, 3}}) {
    const xla::Metadata metadata = described(&theirs);
    EXPECT_EQ(metadata.version.major, 0);
    EXPECT_EQ(metadata.version.minor, common);
    EXPECT_EQ(metadata.traits, 0U);
  }
  EXPECT_EQ(oriel_pool_interface[0], 0);
  EXPECT_EQ(oriel_pool_interface[1], 1);
}

TEST(XlaMetadata, IsNotWrittenPastItsEnd) {
  const xla::Metadata metadata = described(nullptr, xla::kSize<xla::Metadata> - 4);
  EXPECT_EQ(metadata.version.minor, -1);
  EXPECT_EQ(metadata.traits, 77U);
}

}  // namespace
}  // namespace oriel::test
