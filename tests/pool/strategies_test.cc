// Every strategy gives the reference's bits wherever it can, not only where it is chosen; and which one is chosen for
// each problem of bench/suite.txt is written down in bench/strategies.txt.
#include "cpu/strategies.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "cpu/simd/targets.h"
#include "pool/conform.h"
#include "pool/random_problem.h"
#include "seeds.h"

namespace oriel::test {
namespace {

#ifdef ORIEL_SANITIZED  // which takes several times as long
constexpr int kRandom = 40;
constexpr unsigned kEvery = 7;  // of the cases
#else
constexpr int kRandom = 300;
constexpr unsigned kEvery = 1;
#endif

std::vector<std::string> lines_of(const char* file_name) {
  std::ifstream file(file_name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty() && line[0] != '[') lines.push_back(line);
  }
  return lines;
}

bool has_avx512() { return cpu::active_target().substr(0, 4) == "AVX3"; }
bool has_planes() { return has_avx512() || cpu::active_target() == "AVX2" || cpu::active_target() == "NEON"; }

class Forced : public testing::TestWithParam<std::string> {
 protected:
  Forced() { cpu::force_strategies(GetParam()); }
  ~Forced() override {
    cpu::force_strategies("");
    cpu::set_target("");
  }
};

std::string check(const Problem& p, Data data, unsigned number) {
  std::mt19937_64 random(number);
  const auto x = fill(p.dtype, element_count(p.shape), data, random);
  const bool no_backward = data == Data::specials && p.pool.op == Op::lp;  // only a bound, which these have not
  const auto dy = fill(p.dtype, no_backward ? 0 : element_count(p.output_shape), data, random);
  const Case c(p, x, no_backward ? std::vector<std::byte>{} : dy);
  const Layout in = number % 2 == 0 ? Layout::dense : kWritableLayouts[number % 5];
  const Layout out = number % 2 == 0 ? Layout::dense : kWritableLayouts[number / 5 % 5];
  return check_all(c, in, out, {.threads = number % 3 == 0 ? 3 : 1});
}

TEST_P(Forced, S1_S10_AsTheReferenceWhereverItCan) {
  const std::int64_t before = cpu::forced_jobs();
  const std::vector<std::string> targets = cpu::supported_targets();
  unsigned number = seeds()[0] % 1000, line_number = 0, dtype = number;
  int wrongs = 0;
  const auto run = [&](const Problem& p) {
    const Data data = kAllData[++number % 4];
    cpu::set_target(number % 2 == 0 ? "" : targets[number / 2 % targets.size()]);  // the best one, and others by turns
    const std::string wrong = check(p, data, number);
    if (wrong.empty()) return;
    ADD_FAILURE() << name(data) << ", " << cpu::active_target() << ": " << wrong;
    ++wrongs;
  };
  constexpr Dtype kOthers[] = {Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::u8, Dtype::i16, Dtype::i32, Dtype::i64};
  for (const std::string& line : lines_of(ORIEL_CASES)) {
    Problem p = parse_problem(line);
    if (line_number++ % kEvery != 0) continue;
    p.dtype = p.result = ++dtype % 2 == 0 ? Dtype::f32 : kOthers[dtype / 2 % std::size(kOthers)];
    run(p);
    if (wrongs >= 20) FAIL() << "too many";
  }
  std::mt19937_64 random(seeds()[0]);
  for (int i = 0; i < kRandom && wrongs < 20; ++i) run(random_problem(random, 300));
  const std::int64_t jobs = cpu::forced_jobs() - before;
  RecordProperty("jobs", static_cast<int>(jobs));
#ifndef ORIEL_SANITIZED                                                                   // whose few cases may miss it
  const std::set<std::string> some_targets = {"masked", "planes", "registers", "boxes"};  // have kernels
  if (has_avx512() || !some_targets.contains(GetParam())) {
    EXPECT_GT(jobs, 0) << "the strategy did nothing";
  }
#endif
}

std::vector<std::string> names() {
  std::set<std::string> all;
  for (const auto table : {cpu::folds(), cpu::argmax_folds()}) {
    for (const auto& s : table) all.emplace(s.name);
  }
  for (const auto table : {cpu::sum_gradients(), cpu::extremum_gradients(), cpu::indexed_gradients()}) {
    for (const auto& s : table) all.emplace(s.name);
  }
  return {all.begin(), all.end()};
}

INSTANTIATE_TEST_SUITE_P(Strategies, Forced, testing::ValuesIn(names()), [](const auto& p) { return p.param; });

TEST(Strategies, NamesThatAreNoneAreRefused) {
  try {
    cpu::force_strategies("rows,quick");
    FAIL() << "taken";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find("force_strategies: 'quick' is not a strategy; allowed: search, channels"), 0U)
        << e.what();
  }
  const Problem forward = parse_problem("max:f32:8x64x112x112:k3x3s2p1");
  EXPECT_EQ(explain(forward).strategy, has_planes() ? "planes" : "rows");
  cpu::force_strategies("rows,shares");
  EXPECT_EQ(explain(forward).strategy, "rows");
  EXPECT_EQ(explain(parse_problem("avg:f32:8x64x112x112:k2x2:backward")).strategy, "shares");
  cpu::force_strategies("");
}

// Lines: a problem, what folds it with AVX2, and with AVX-512.
TEST(Strategies, TheSuiteGoesAsWrittenDown) {
  std::map<std::string, std::pair<std::string, std::string>> written;
  for (const std::string& line : lines_of(ORIEL_STRATEGIES)) {
    std::istringstream words(line);
    std::string problem, avx2, avx512;
    ASSERT_TRUE(words >> problem >> avx2 >> avx512) << line;
    written[problem] = {avx2, avx512};
  }
  const std::vector<std::string> suite = lines_of(ORIEL_SUITE);
  const std::set<std::string> problems(suite.begin(), suite.end());
  std::set<std::string> listed;
  for (const auto& [problem, strategies] : written) listed.insert(problem);
  const bool writes = std::getenv("ORIEL_WRITE_STRATEGIES") != nullptr;
  if (!writes) {
    EXPECT_EQ(listed, problems) << "ORIEL_WRITE_STRATEGIES=1 writes the file again";
  }
  std::string avx512;
  bool avx2 = false;
  for (const std::string& target : cpu::supported_targets()) {
    if (avx512.empty() && target.substr(0, 4) == "AVX3") avx512 = target;
    avx2 |= target == "AVX2";
  }
  const auto look = [&](const std::string& target, std::string std::pair<std::string, std::string>::*column) {
    cpu::set_target(target);
    for (const std::string& problem : problems) {
      const std::string way = explain(parse_problem(problem)).strategy;
      if (writes)
        written[problem].*column = way;
      else
        EXPECT_EQ(written[problem].*column, way) << problem << " with " << target;
    }
    cpu::set_target("");
  };
  if (avx2) look("AVX2", &std::pair<std::string, std::string>::first);
  if (!avx512.empty()) look(avx512, &std::pair<std::string, std::string>::second);
  if (writes) {
    ASSERT_TRUE(avx2 && !avx512.empty()) << "a processor with AVX-512 writes both columns";
    std::ofstream file(ORIEL_STRATEGIES);
    file << "# Problem of suite.txt, its strategy with AVX2, and with AVX-512. Written by a test: "
            "ORIEL_WRITE_STRATEGIES=1 build/bin/pool_strategies_test\n";
    for (const std::string& problem : suite) {
      file << problem << ' ' << written[problem].first << ' ' << written[problem].second << '\n';
    }
    return;
  }
  if (!avx2) GTEST_SKIP() << "not checked: this processor has no AVX2";
  if (avx512.empty()) GTEST_SKIP() << "the column of AVX-512 was not checked: this processor has none";
}

}  // namespace
}  // namespace oriel::test
