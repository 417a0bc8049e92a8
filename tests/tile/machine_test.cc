// The limits of the real machines, and the report.
#include <gtest/gtest.h>

#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

const std::vector<nki::machine> kReal = {nki::trn1, nki::trn2, nki::trn3};

std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& f : findings) out.push_back(f.id);
  return out;
}

Program tutorial(index_t c, index_t h, index_t w, int p, Dtype dtype = Dtype::f32) {
  return tensor_avgpool_kernel.trace(nki::meta{dtype, {c, h, w}}, p);
}

bool refused(const Program& program, const nki::machine& m, const std::string& id) {
  for (const Finding& f : check(program, m))
    if (f.is_error && f.id == id) return true;
  return false;
}

TEST(Machine, ChannelsUpTo128) {
  for (const nki::machine& m : kReal) {
    for (const index_t c : {1, 64, 127, 128}) EXPECT_TRUE(check(tutorial(c, 6, 6, 2), m).empty()) << c;
    for (const index_t c : {129, 256})
      EXPECT_TRUE(refused(tutorial(c, 6, 6, 2), m, "err_num_partition_exceed_arch_limit")) << c;
  }
  EXPECT_TRUE(check(tutorial(1024, 6, 6, 2), nki::native).empty());
}

TEST(Machine, TheLargestSquareImages) {
  // (1 + 1/4) * side^2 * 4 bytes, or 2, in the usable bytes of a partition: the last even sides that fit.
  const index_t f32_sides[3] = {188, 206, 220}, f16_sides[3] = {268, 290, 312};
  for (std::size_t m = 0; m < 3; ++m) {
    for (const auto& [dtype, side] : {std::pair{Dtype::f32, f32_sides[m]}, std::pair{Dtype::f16, f16_sides[m]}}) {
      EXPECT_FALSE(refused(tutorial(2, side, side, 2, dtype), kReal[m], "SBUF1")) << side << kReal[m].name;
      EXPECT_TRUE(refused(tutorial(2, side + 2, side + 2, 2, dtype), kReal[m], "SBUF1")) << side << kReal[m].name;
    }
  }
}

TEST(Machine, TheLargestSquareImagesOfOddSidesToo) {
  const index_t fits[3] = {189, 206, 221};
  for (std::size_t m = 0; m < 3; ++m) {
    EXPECT_TRUE(check(tutorial(2, fits[m], fits[m], 2), kReal[m]).empty()) << kReal[m].name;
    EXPECT_TRUE(refused(tutorial(2, fits[m] + 1, fits[m] + 1, 2), kReal[m], "SBUF1")) << kReal[m].name;
  }
}

TEST(Machine, TwoHundredAndTwentyFourFitsNowhere) {
  for (const nki::machine& m : kReal) EXPECT_TRUE(refused(tutorial(2, 224, 224, 2), m, "SBUF1")) << m.name;
  const std::vector<Finding> found = check(tutorial(2, 224, 224, 2), nki::trn2);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].text,
            "tensor_reduce must fit its tiles into SBUF, but needs 200704 + 50176 = 250880 B/partition, and trn2 has "
            "212984; at most about 190 of the 224 rows of `t2` fit: work on bands of rows");
}

TEST(Machine, ATotalThatSpillsIsAWarning) {
  const auto kernel = nki::jit("spills", [](nl::tensor x) {
    auto out = nl::ndarray({2, 20000}, {.buffer = nl::shared_hbm});
    auto a = nl::load(x), b = nl::load(x), c = nl::load(x);
    nl::store(out, a + (b + c));
    return out;
  });
  const Program program = kernel.trace(nki::meta{Dtype::f32, {2, 20000}});
  EXPECT_EQ(ids(check(program, nki::trn1)), (std::vector<std::string>{"SBUF1", "SBUF1", "SBUF2"}));
  const auto small = nki::jit("spills", [](nl::tensor x) {
    auto out = nl::ndarray({2, 14000}, {.buffer = nl::shared_hbm});
    auto a = nl::load(x), b = nl::load(x), c = nl::load(x);
    nl::store(out, a + (b + c));
    return out;
  });
  const std::vector<Finding> found = check(small.trace(nki::meta{Dtype::f32, {2, 14000}}), nki::trn1);
  ASSERT_EQ(ids(found), std::vector<std::string>{"SBUF2"});
  EXPECT_FALSE(found[0].is_error);
  EXPECT_NE(found[0].text.find("need 224000 B/partition, and trn1 has 180224"), std::string::npos) << found[0].text;
  EXPECT_NO_THROW(small.specialize(nki::trn1, nki::meta{Dtype::f32, {2, 14000}}));
}

TEST(Machine, PoolingVolumesNeedsMoreAxesThanThereAre) {
  const auto pool3d = nki::jit("pool3d", [](nl::tensor x) {
    auto out = nl::ndarray({2, 3, 3, 3}, {.buffer = nl::shared_hbm});
    auto [p, d, h, w, a, b, c] = nl::mgrid(2, 3, 3, 3, 3, 3, 3);
    auto t = nl::load(x);
    nl::store(out, nl::max(t[{p, 2 * d + a, 2 * h + b, 2 * w + c}], {.axis = {4, 5, 6}}));
    return out;
  });
  const Program program = pool3d.trace(nki::meta{Dtype::f32, {2, 7, 7, 7}});
  const std::vector<Finding> found = check(program, nki::trn2);
  ASSERT_EQ(ids(found), std::vector<std::string>{"AP5"});
  EXPECT_NE(found[0].text.find("at most 4 free axes"), std::string::npos);
  EXPECT_NE(found[0].text.find("has 6"), std::string::npos) << found[0].text;
  EXPECT_TRUE(check(program, nki::native).empty());
}

TEST(Machine, NeighbouringAxesCountAsOne) {
  const auto kernel = nki::jit("flat", [](nl::tensor x) {  // six free axes, all of them dense
    auto out = nl::ndarray({2, 2, 2, 2, 2, 2, 2}, {.buffer = nl::shared_hbm});
    nl::store(out, nl::load(x) * 2);
    return out;
  });
  EXPECT_TRUE(check(kernel.trace(nki::meta{Dtype::f32, {2, 2, 2, 2, 2, 2, 2}}), nki::trn2).empty());
}

TEST(Machine, StridesAreSixteenBits) {
  // bf16 4 x 16384, pool 2: fits SBUF, but two rows are 32768 elements apart.
  EXPECT_TRUE(refused(tutorial(2, 4, 16384, 2, Dtype::bf16), nki::trn2, "AP16"));
  EXPECT_FALSE(refused(tutorial(2, 4, 16382, 2, Dtype::bf16), nki::trn2, "AP16"));
}

TEST(Machine, CountsAreSixteenBits) {
  const auto doubled = [](index_t n) {
    const auto kernel = nki::jit("doubled", [n](nl::tensor x) {
      auto out = nl::ndarray({1, n}, {.dtype = nl::uint8, .buffer = nl::shared_hbm});
      nl::store(out, nl::load(x) + nl::load(x));
      return out;
    });
    return kernel.trace(nki::meta{Dtype::u8, {1, n}});
  };
  EXPECT_FALSE(refused(doubled(65535), nki::trn2, "AP16"));
  EXPECT_TRUE(refused(doubled(65536), nki::trn2, "AP16"));
}

TEST(Machine, WherePatternsMayStart) {
  const auto used_from = [](index_t start, index_t partitions) {
    const auto kernel = nki::jit("start", [=](nl::tensor x) {
      auto out = nl::ndarray({partitions, 4}, {.buffer = nl::shared_hbm});
      auto t = nl::load(x);
      nl::store(out, t[{nl::ds(start, partitions)}] * 2);
      return out;
    });
    return kernel.trace(nki::meta{Dtype::f32, {128, 4}});
  };
  const index_t fine[][2] = {{0, 128}, {0, 65}, {64, 64}, {64, 33}, {32, 32}, {96, 32}, {96, 1}, {0, 3}};
  const index_t wrong[][2] = {{1, 1}, {16, 32}, {32, 33}, {63, 65}, {32, 64}};
  for (const auto& [start, n] : fine)
    EXPECT_FALSE(refused(used_from(start, n), nki::trn2, "PSTART")) << start << " " << n;
  for (const auto& [start, n] : wrong)
    EXPECT_TRUE(refused(used_from(start, n), nki::trn2, "PSTART")) << start << " " << n;
}

TEST(Machine, NamesOfMachines) {
  EXPECT_EQ(nki::machine_named("trn3").sbuf_bytes, 245752);
  EXPECT_THROW(nki::machine_named("trn9"), Error);
}

TEST(Report, FactsOfTheTutorial) {
  const Program program = tutorial(64, 112, 112, 2);
  const Report r = report(program, nki::trn1);
  EXPECT_EQ(r.bytes_in, 64 * 112 * 112 * 4);
  EXPECT_EQ(r.bytes_out, 64 * 56 * 56 * 4);
  EXPECT_EQ(r.dma, 2);
  EXPECT_EQ(r.compute, 2);
  EXPECT_EQ(r.lanes, 64);
  EXPECT_EQ(r.sbuf_peak, 112 * 112 * 4 + 56 * 56 * 4);
  EXPECT_EQ(r.alive, (std::vector<std::string>{"t2", "t3"}));
  EXPECT_DOUBLE_EQ(r.vector_cycles, 12544 + 3136);
  EXPECT_NEAR(r.vector_us, 14.0, 0.05);
  EXPECT_NEAR(r.dma_us, 14.8, 0.05);
  const std::string text = to_string(r, program, nki::trn1);
  EXPECT_NE(text.find("exact   hbm->sbuf 3211264 B in 1 dma   sbuf->hbm 802816 B in 1 dma\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("lanes 64 of 128   sbuf peak 62720 of 180224 B/partition"), std::string::npos) << text;
  EXPECT_NE(text.find("model*  "), std::string::npos);
  EXPECT_EQ(to_string(r, program, nki::native).find("model"), std::string::npos);
}

TEST(Report, LoopsCountEachTime) {
  const auto kernel = nki::jit("looped", [](nl::tensor x) {
    auto out = nl::ndarray({300, 4}, {.buffer = nl::shared_hbm});
    auto [p, f] = nl::mgrid(128, 4);
    for (auto i : nl::affine_range(0, 300, 128)) {
      auto t = nl::load(x[{i + p, f}], {.mask = i + p < 300});
      nl::store(out[{i + p, f}], {.value = t, .mask = i + p < 300});
    }
    return out;
  });
  const Report r = report(kernel.trace(nki::meta{Dtype::f16, {300, 4}}), nki::trn2);
  EXPECT_EQ(r.dma, 6);
  EXPECT_EQ(r.bytes_in, 300 * 4 * 2);
  EXPECT_EQ(r.bytes_out, 300 * 4 * 4);  // the result is f32
}

TEST(Report, TilesUsedInALoopLiveThroughIt) {
  const auto kernel = nki::jit("carried", [](nl::tensor x) {
    auto out = nl::ndarray({2, 100}, {.buffer = nl::shared_hbm});
    auto kept = nl::load(x);
    for (auto i : nl::affine_range(4)) {
      auto a = nl::copy(kept[{nl::all, nl::ds(25 * i, 25)}]);
      auto b = a + 1;
      nl::store(out[{nl::all, nl::ds(25 * i, 25)}], b);
    }
    return out;
  });
  const Report r = report(kernel.trace(nki::meta{Dtype::f32, {2, 100}}), nki::trn1);
  EXPECT_EQ(r.sbuf_peak, 400 + 100 + 100);
}

}  // namespace
}  // namespace oriel::tile::test
