// Every case of cases.txt, every dtype, every layout, against the reference.
#include <gtest/gtest.h>

#include <fstream>

#include "every_case.h"
#include "pool/conform.h"
#include "pool/fill.h"

namespace oriel::test {
namespace {

std::vector<std::string> read_cases() {
  std::ifstream file(ORIEL_CASES);
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') names.push_back(line);
  return names;
}

Problem with_dtype(const std::string& name, Dtype dtype) {
  Problem p = parse_problem(name);
  p.dtype = p.result = dtype;
  return p;
}

index_t outputs(const Problem& p) { return element_count(p.output_shape); }

class Conformance : public testing::TestWithParam<Dtype> {
 protected:
  static std::string dtype_name() { return std::string(oriel::name(GetParam())); }
};

TEST(Cases, FileIsThereAndCanonical) {
  const std::vector<std::string> names = read_cases();
  EXPECT_GT(names.size(), 80U);
  for (const std::string& name : names)
    EXPECT_EQ(to_string(parse_problem(to_string(parse_problem(name)))), to_string(parse_problem(name)));
}

TEST_P(Conformance, S1_S10_AllCases) {
  int wrongs = 0;
  unsigned number = 0, cases = 0;
  for (const std::string& name : read_cases()) {
    const Problem p = with_dtype(name, GetParam());
    const Data by_turns = kAllData[++cases % 4];
#ifdef ORIEL_SANITIZED  // which takes many times as long: every case with some of the types
    const bool skipped = (cases + static_cast<unsigned>(GetParam())) % 4 != 0, all_data = false;
#else
    const bool skipped = false, all_data = every_case() || GetParam() == Dtype::f32;
#endif
    for (Data data : kAllData) {
      std::mt19937_64 random(++number);
      if (skipped || (!all_data && data != Data::specials && data != by_turns)) continue;
      const auto x = fill(p.dtype, element_count(p.shape), data, random);
      const bool no_backward = data == Data::specials && p.pool.op == Op::lp;  // only a bound, which these have not
      const auto dy = fill(p.dtype, no_backward ? 0 : outputs(p), data, random);
      const Case c(p, x, no_backward ? std::vector<std::byte>{} : dy);
      // Layouts by turns: each pair of them meets many cases.
      const Layout in = kWritableLayouts[number % 5], out = kWritableLayouts[(number / 5) % 5];
      std::string wrong = check_all(c, Layout::dense, Layout::dense);
      if (wrong.empty()) wrong = check_all(c, in, out);
      if (wrong.empty()) continue;
      ADD_FAILURE() << dtype_name() << ' ' << oriel::test::name(data) << ": " << wrong;
      if (++wrongs == 20) FAIL() << "too many";
    }
  }
}

// The oracle of exact bits (S8's tree) against the same sums in long double, in scan order.
TEST_P(Conformance, S8_TheOracleIsWithinItsBound) {
  unsigned number = 0, cases = 0;
  for (const std::string& name : read_cases()) {
    const Problem p = with_dtype(name, GetParam());
    const unsigned turn = ++cases % 3;
    for (Data data : {Data::integers, Data::reals, Data::spread}) {
      std::mt19937_64 random(++number);
      if (!every_case() && number % 3 != turn) continue;
      const auto x = fill(p.dtype, element_count(p.shape), data, random);
      const auto dy = fill(p.dtype, outputs(p), data, random);
      const Case c(p, x, dy);
      EXPECT_EQ(reference::first_beyond_bound(p.dtype, c.y.bits.data(), c.y), -1) << to_string(p);
      // Of Lp gradients the reference has bits only where p is 1: the rest is judged by value.
      if (c.backward && (p.pool.op != Op::lp || p.pool.norm == 1)) {
        EXPECT_EQ(reference::first_beyond_bound(p.dtype, c.dx.bits.data(), c.dx), -1) << to_string(p);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Cases, TheChecksCanFail) {
  const Problem p = parse_problem("max:f32:1x2x6x7:k3x3s2p1");
  std::mt19937_64 random(1);
  const auto x = fill(p.dtype, element_count(p.shape), Data::reals, random);
  const auto dy = fill(p.dtype, outputs(p), Data::reals, random);
  const Case right(p, x, dy);
  ASSERT_EQ(check_all(right, Layout::dense, Layout::dense), "");
  Case wrong = right;
  wrong.y.bits[5] ^= std::byte{1};
  EXPECT_NE(check_forward(wrong, Layout::dense, Layout::dense), "");
  wrong = right;
  wrong.y.plane[3] += 1;
  EXPECT_NE(check_forward(wrong, Layout::dense, Layout::dense), "");
  wrong = right;
  wrong.dx.bits[8] ^= std::byte{1};
  EXPECT_NE(check_backward(wrong, Layout::dense, Layout::dense), "");
  Placed guarded(Dtype::f32, {2, 3}, Layout::sliced, nullptr);
  static_cast<float*>(guarded.view().data)[1] = 7;  // between two elements
  EXPECT_FALSE(guarded.guards_survive());
  EXPECT_TRUE(Placed(Dtype::f32, {2, 3}, Layout::sliced, nullptr).guards_survive());
}

TEST_P(Conformance, EveryLayout) {
  const char* names[] = {"max:f32:2x3x8x9:k3x3s2p1",       "avg:f32:2x3x8x9:k3x3s2p1:exclude",
                         "sum:f32:2x5x7x19:k3x3s1p1",      "max:f32:2x3x5x6x4:k2x2x2s1p1",
                         "lp2:f32:2x3x8x9:k2x2",           "avg:f32:3x4x5:k2s1:axes0,1",
                         "min:f32:6x5x4x3:k2s1d2:axes0,3", "max:f32:2x3x9x9:out4x4"};
  for (const char* name : names) {
    const Problem p = with_dtype(name, GetParam());
    std::mt19937_64 random(7);
    const auto x = fill(p.dtype, element_count(p.shape), Data::reals, random);
    const auto dy = fill(p.dtype, outputs(p), Data::reals, random);
    const Case c(p, x, dy);
    for (Layout in : kWritableLayouts)
      for (Layout out : kWritableLayouts) ASSERT_EQ(check_all(c, in, out), "");
    // An input whose first axis has no pitch holds the same numbers again and again.
    const Case repeated(p, Placed(p.dtype, p.shape, Layout::broadcast, x.data()).dense(), {});
    for (Layout out : kWritableLayouts) ASSERT_EQ(check_forward(repeated, Layout::broadcast, out), "");
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Conformance,
                         testing::Values(Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i8, Dtype::u8,
                                         Dtype::i16, Dtype::u16, Dtype::i32, Dtype::u32, Dtype::i64, Dtype::u64,
                                         Dtype::boolean),
                         [](const auto& of) { return std::string(oriel::name(of.param)); });

}  // namespace
}  // namespace oriel::test
