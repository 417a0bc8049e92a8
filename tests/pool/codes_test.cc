// Indices as small codes (S10), and the way that finds them in one pass.
#include <gtest/gtest.h>

#include <map>

#include "pool/conform.h"
#include "pool/fill.h"

namespace oriel::test {
namespace {

// Names, and the way that AVX-512, and of f32 and f64 AVX2, takes for them with codes and with int64 indices.
const std::map<std::string, std::pair<const char*, const char*>> kWays = {
    {"max:f32:2x2x40x72:k3x3s1p1", {"registers", "registers"}},
    {"max:f32:1x2x75x70:k3x3s2p1", {"registers", "registers"}},
    {"min:f64:1x1x9x70:k2x2", {"registers", "registers"}},
    {"max:f16:1x2x9x80:k2x2s1p1", {"registers", "registers"}},
    {"max:bf16:2x3x14x14:k3x3s1p1", {"registers", "registers"}},
    {"max:f32:2x512x7x7:k3x3s1p1", {"registers", "registers"}},
    {"max:f32:1x2x6x8x40:k2x2x2", {"registers", "registers"}},
    {"max:f32:2x9x8x64:k3s2p1:axes1,2", {"registers", "registers"}},
    {"max:bf16:2x9x8x96:k2:axes1,2", {"registers", "registers"}},
    {"max:f32:2x9x8x64:k5s2p2:axes1,2", {"registers", "boxes"}},  // 25 taps are beyond the table of places
    {"max:u8:2x2x40x72:k3x3s1p1", {"boxes", "boxes"}},
    {"max:f32:2x2x40x72:k5x5s1p2", {"registers", "boxes"}},
    {"min:f32:2x2x40x71:k5x5s2p2", {"registers", "boxes"}},
    {"max:f32:2x3x28x28:k4x4s2", {"registers", "registers"}},
    {"max:f32:2x3x29x37:k4x4s1p1", {"registers", "registers"}},
    {"max:f64:2x2x40x72:k5x5s1p2", {"boxes", "boxes"}},
    {"max:f32:2x2x40x72:k3x3s1p1:omit", {"rows", "rows"}},
};

TEST(Codes, TheWayIsTaken) {
  const bool avx512 = active_target().starts_with("AVX3"), avx2 = active_target() == "AVX2";
  for (const auto& [name, ways] : kWays) {
    const bool fast =
        avx512 || (avx2 && size_bytes(parse_problem(name).dtype) >= 4) || ways.first == std::string("rows");
    EXPECT_EQ(explain(parse_problem(name + ":codes")).strategy, fast ? ways.first : "boxes") << name;
    EXPECT_EQ(explain(parse_problem(name + ":indices")).strategy, fast ? ways.second : "boxes") << name;
  }
}

TEST(Codes, PayWhereBothPassesHaveKernels) {
  const bool avx512 = active_target().starts_with("AVX3"), avx2 = active_target() == "AVX2";
  for (const char* name :
       {"max:f32:8x64x112x112:k3x3s2p1", "max:f32:2x2x40x72:k3x3s1p1", "max:f32:2x9x8x64:k3s2p1:axes1,2",
        "max:f32:32x3x28x28:k4x4s2", "max:f32:2x2x40x72:k5x5s1p2"}) {
    EXPECT_EQ(codes_pay(parse_problem(name)), avx512 || avx2) << name;
  }
  for (const char* name : {"min:bf16:2x3x40x40:k2x2", "max:bf16:2x3x40x40:k3x3s1p1", "max:f32:1x2x6x8x40:k2x2x2",
                           "max:f32:2x512x14x14:k2x2", "max:f32:2x64x112x112:k2x2"}) {
    EXPECT_EQ(codes_pay(parse_problem(name)), avx512) << name;
  }
  for (const char* name :
       {"max:f32:2x512x7x7:k3x3s1p1", "max:f64:2x2x40x72:k5x5s1p2", "max:i32:2x2x40x72:k2x2",
        "max:f32:2x2x40x72:k3x3s1p1:omit", "avg:f32:2x2x40x72:k3x3s1p1", "max:f32:1x1x64x64:k16x16"}) {
    EXPECT_FALSE(codes_pay(parse_problem(name))) << name;
  }
}

TEST(Codes, S10_ProblemsAgreeWithTheReference) {
  for (const auto& [name, ways] : kWays) {
    const Problem p = parse_problem(name);
    for (Data data : kAllData) {
      std::mt19937_64 random(static_cast<unsigned>(data) + 3);
      const Case c(p, fill(p.dtype, element_count(p.shape), data, random), {});
      for (int threads : {1, 3})
        EXPECT_EQ(check_forward(c, Layout::dense, Layout::dense, {.threads = threads}), "") << name;
    }
  }
}

// One special value anywhere: the box that holds it is done exactly, and no other one suffers.
TEST(Codes, S3_OneNanAnywhere) {
  for (const char* name : {"max:f32:1x1x9x40:k3x3s2", "max:f32:1x1x9x39:k3x3s2p1", "max:f32:1x1x6x37:k3x3s1p1",
                           "max:f32:1x1x7x41:k5x5s1p2", "max:f32:1x1x9x75:k5x5s2p2", "max:f32:1x1x9x74:k4x4s2",
                           "max:f32:1x1x9x72:k4x4s2p1", "max:f32:1x1x6x37:k4x4s1", "max:f64:1x1x6x21:k2x2",
                           "max:f16:1x1x5x70:k2x2s1", "max:bf16:1x1x5x70:k3x3s2p1"}) {
    const Problem p = parse_problem(name);
    const index_t n = element_count(p.shape), bytes = size_bytes(p.dtype);
    std::mt19937_64 random(5);
    const auto plain = fill(p.dtype, n, Data::integers, random);
    for (index_t at = 0; at < n; ++at) {
      auto x = plain;
      std::memset(x.data() + at * bytes, 0xff, static_cast<std::size_t>(bytes));  // a NaN of each type
      const Case c(p, x, {});
      ASSERT_EQ(check_forward(c, Layout::dense, Layout::dense), "") << name << ", NaN at " << at;
    }
  }
}

TEST(Codes, S6_AWindowWithoutTaps) {
  const Problem p = parse_problem("max:f32:2:k1s1p1");
  const std::vector<float> x = {5, 6};
  std::vector<float> y(4);
  std::vector<std::uint8_t> codes(4, 7);
  forward(p.pool, {.x = ConstTensor(x.data(), {2}),
                   .y = Tensor(y.data(), {4}),
                   .indices = Tensor(codes.data(), {4}),
                   .space = IndexSpace::window});
  EXPECT_EQ(codes, (std::vector<std::uint8_t>{255, 0, 0, 255}));
  std::vector<float> dx(2);
  backward(p.pool, {.dy = ConstTensor(y.data(), {4}),
                    .indices = ConstTensor(codes.data(), {4}),
                    .space = IndexSpace::window,
                    .dx = Tensor(dx.data(), {2})});
  EXPECT_EQ(dx, x);
}

}  // namespace
}  // namespace oriel::test
