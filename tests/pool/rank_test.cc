// Medians and quantiles by networks and by histograms: the networks select what they shall from all zeros and ones, and
// every strategy gives the reference's results wherever it can.
#include <gtest/gtest.h>

#include <algorithm>

#include "cpu/networks/selection.h"
#include "cpu/simd/stream.h"
#include "cpu/simd/targets.h"
#include "cpu/strategies.h"
#include "pool/statistic_case.h"
#include "seeds.h"

namespace oriel::test {
namespace {

#ifdef ORIEL_SANITIZED
constexpr int kCases = 60;
#else
constexpr int kCases = 400;
#endif

using cpu::SelectionWindow;

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Runs a network as its description says, on rows of bytes.
void run(const cpu::Selection& selection, std::vector<std::vector<int>>& rows, index_t lanes) {
  for (const cpu::Exchange& step : selection.steps) {
    const cpu::ExchangeShape& shape = cpu::kExchangeShapes[step.shape];
    for (index_t x = 0; x < lanes + step.extra; ++x) {
      std::array<int, 4> wire{};
      for (std::size_t w = 0; w < at(shape.wires); ++w) wire[w] = rows.at(step.in[w]).at(at(x + step.shift[w]));
      const auto exchange = [&wire](int low, int high) {
        const auto [least, most] = std::minmax(wire[at(low)], wire[at(high)]);
        const int a = least, b = most;
        wire[at(low)] = a;
        wire[at(high)] = b;
      };
      exchange(0, 1);
      if (shape.exchanges > 1) exchange(shape.then[0], shape.then[1]);
      if (shape.exchanges > 2) exchange(shape.then[2], shape.then[3]);
      for (std::size_t w = 0; w < at(shape.wires); ++w)
        if (step.out[w] != cpu::kNoRow) rows.at(step.out[w]).at(at(x)) = wire[w];
    }
  }
}

// Whether the network finds the ranks of windows of zeros and ones: then it does of all values (0-1 principle).
void expect_selects(const SelectionWindow& window, std::mt19937_64& random) {
  const cpu::Selection selection = cpu::make_selection(window);
  ASSERT_EQ(selection.results.size(), at(window.outputs) * window.ranks.size());
  const index_t lanes = 16;
  for (int ones = 0; ones <= 40; ++ones) {
    std::vector<std::vector<int>> rows(selection.inputs + selection.scratch,
                                       std::vector<int>(at(lanes) + selection.reach));
    for (std::size_t r = 0; r < selection.inputs; ++r)
      for (int& value : rows[r]) value = static_cast<int>(random() % 40) < ones ? 1 : 0;
    const auto inputs = rows;
    run(selection, rows, lanes);
    for (index_t o = 0; o < window.outputs; ++o) {
      for (index_t x = 0; x < lanes; ++x) {
        index_t zeros = 0, tap = 0;
        for (index_t d = 0; d < window.depth; ++d)
          for (index_t y = 0; y < window.height; ++y)
            for (const SelectionWindow::Column& c : window.columns) {
              if (!window.taps.empty() && window.taps[at(tap++)] == 0) continue;
              const index_t row = (d * window.rows() + y + o) * window.phases + c.phase;
              zeros += inputs[at(row)][at(x + c.shift)] == 0 ? 1 : 0;
            }
        for (std::size_t k = 0; k < window.ranks.size(); ++k) {
          const cpu::SelectedRow found = selection.results[at(o) * window.ranks.size() + k];
          ASSERT_EQ(rows[found.row][at(x) + found.shift], window.ranks[k] < zeros ? 0 : 1)
              << window.depth << "x" << window.height << "x" << window.columns.size() << " rank " << window.ranks[k];
        }
      }
    }
  }
}

TEST(Selection, S16_NetworksFindTheirRanks) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < kCases / 2; ++i) {
      SelectionWindow window;
      window.depth = pick(random, 1, 3);
      window.height = pick(random, 1, 9);
      window.phases = pick(random, 1, 3);
      window.outputs = pick(random, 1, std::min<index_t>(window.height, 4));
      const index_t width = pick(random, 1, 9), step = pick(random, 1, 2);
      for (index_t t = 0; t < width; ++t) window.columns.push_back({t % window.phases, t / window.phases * step});
      if (random() % 3 == 0) {
        window.outputs = 1;
        for (index_t t = 0; t < window.depth * window.height * width; ++t) window.taps.push_back(random() % 4 != 0);
        window.taps[0] = 1;
      }
      for (int k = 0; k < 1 + static_cast<int>(random() % 5); ++k)
        window.ranks.push_back(pick(random, 0, window.count() - 1));
      std::sort(window.ranks.begin(), window.ranks.end());
      window.ranks.erase(std::unique(window.ranks.begin(), window.ranks.end()), window.ranks.end());
      expect_selects(window, random);
      if (HasFatalFailure()) return;
    }
  }
}

// Every one of the 2^9 windows of 3x3 zeros and ones, and every rank.
TEST(Selection, S16_AllWindowsOfNineZerosAndOnes) {
  for (index_t rank = 0; rank < 9; ++rank) {
    SelectionWindow window;
    window.height = 3;
    window.columns = {{0, 0}, {0, 1}, {0, 2}};
    window.ranks = {rank};
    const cpu::Selection selection = cpu::make_selection(window);
    for (int bits = 0; bits < 512; ++bits) {
      std::vector<std::vector<int>> rows(selection.inputs + selection.scratch, std::vector<int>(1 + selection.reach));
      int zeros = 0;
      for (int t = 0; t < 9; ++t) {
        const int one = bits >> t & 1;
        rows[at(t / 3)][at(t % 3)] = one;
        zeros += 1 - one;
      }
      run(selection, rows, 1);
      const cpu::SelectedRow found = selection.results[0];
      ASSERT_EQ(rows[found.row][found.shift], rank < zeros ? 0 : 1) << "rank " << rank << " of " << bits;
    }
  }
}

StatisticCase random_ranks(std::mt19937_64& random, bool bytes) {
  for (;;) {
    StatisticCase c;
    const Problem base = random_problem(random, random() % 4 == 0 ? 6000 : 800);
    Pool pool{.windows = base.pool.windows, .nan = base.pool.nan};
    constexpr Dtype kBytes[] = {Dtype::u8, Dtype::i8, Dtype::boolean};
    const Dtype dtype = bytes ? kBytes[random() % 3] : base.dtype;
    pool.op = random() % 2 == 0 ? Op::median : Op::quantile;
    add_options(random, dtype, pool);
    pool.result_dtype.reset();
    try {
      c.problem = make_problem(pool, dtype, base.shape);
    } catch (const Error&) {
      continue;
    }
    if (c.problem.taps() > 300) continue;
    c.data = kAllData[random() % 4];
    const index_t count = element_count(base.shape);
    c.x = fill(dtype, count, c.data, random);
    if (random() % 3 == 0)
      for (index_t i = 0; i < count; ++i) c.mask.push_back(random() % 3 == 0 ? 0 : 1);
    return c;
  }
}

// Medians of 3x3 and 5x5 taps in rows of more than a vector, which have kernels of their own.
StatisticCase random_median(std::mt19937_64& random) {
  StatisticCase c;
  const index_t size = random() % 2 == 0 ? 3 : 5, dilation = pick(random, 1, 2);
  const index_t lanes = random() % 4 == 0 ? 3 : 1;  // channels
  Pool pool{.op = Op::median, .windows = {.kernel = {size, size}, .stride = {1}, .axes = {0, 1}}};
  pool.windows.dilation = {random() % 4 == 0 ? 2 : 1, dilation};
  if (random() % 2 == 0) pool.windows.pad_lo = {size / 2, size / 2};
  if (random() % 4 == 0) pool.method = Quantile::midpoint;
  if (random() % 4 == 0) pool.nan = NanPolicy::omit;
  constexpr Dtype kTypes[] = {Dtype::u8,  Dtype::i8,  Dtype::u16,  Dtype::i16, Dtype::u32, Dtype::i32,    Dtype::u64,
                              Dtype::i64, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64, Dtype::boolean};
  const Dtype dtype = kTypes[random() % std::size(kTypes)];
  const index_t height = random() % 8 == 0 ? pick(random, 130, 150) : pick(random, 2 * size, 20);
  Extents shape{height, pick(random, 2 * size, height > 100 ? 90 : 300)};
  if (lanes > 1) shape = {height, shape[1], lanes};
  c.problem = make_problem(pool, dtype, shape);
  c.data = kAllData[random() % 4];
  c.x = fill(dtype, element_count(shape), c.data, random);
  return c;
}

class Ranks : public testing::TestWithParam<std::string> {
 protected:
  Ranks() { cpu::force_strategies(GetParam()); }
  ~Ranks() override {
    cpu::force_strategies("");
    cpu::set_target("");
    cpu::stream_bytes = stream_bytes_;
  }
  const index_t stream_bytes_ = cpu::stream_bytes;
};

TEST_P(Ranks, S16_AsTheReferenceWhereverTheyCan) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    const std::int64_t before = cpu::forced_jobs();
    for (int i = 0; i < kCases; ++i) {
      const std::vector<std::string> targets = cpu::supported_targets();
      cpu::set_target(targets[random() % targets.size()]);
      cpu::stream_bytes = random() % 2 == 0 ? 1 : stream_bytes_;
      const StatisticCase c = random_ranks(random, GetParam() == "histogram");
      const Options options{.threads = 1 + static_cast<int>(random() % 3)};
      const std::string wrong =
          check_statistic_forward(c, kWritableLayouts[random() % 5], kWritableLayouts[random() % 5], options);
      ASSERT_EQ(wrong, "") << "seed " << seed << " problem " << i << " by " << cpu::active_target();
    }
    EXPECT_GT(cpu::forced_jobs() - before, kCases / 4);
  }
}

TEST(Medians, S16_OfThreeAndFiveInWideRows) {
  const index_t usual = cpu::stream_bytes;
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < kCases; ++i) {
      const std::vector<std::string> targets = cpu::supported_targets();
      cpu::set_target(targets[random() % targets.size()]);
      cpu::stream_bytes = random() % 2 == 0 ? 1 : usual;
      const StatisticCase c = random_median(random);
      const Options options{.threads = 1 + static_cast<int>(random() % 3)};
      const Layout out = random() % 2 == 0 ? Layout::dense : kWritableLayouts[random() % 5];
      const Layout in = random() % 2 == 0 ? Layout::dense : kWritableLayouts[random() % 5];
      EXPECT_EQ(check_statistic_forward(c, in, out, options), "")
          << "seed " << seed << " problem " << i << " by " << cpu::active_target() << " " << to_string(c.problem);
    }
  }
  cpu::set_target("");
  cpu::stream_bytes = usual;
}

// They have no kernel of their own.
TEST(Medians, S16_OfAsManyTapsAsASquareInDeeperWindows) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < kCases / 2; ++i) {
      const std::vector<std::string> targets = cpu::supported_targets();
      cpu::set_target(targets[random() % targets.size()]);
      const index_t size = random() % 2 == 0 ? 3 : 5, depth = pick(random, 2, 3);
      Pool pool{.op = Op::median, .windows = {.kernel = {depth, size, size}, .stride = {1}, .axes = {0, 1, 2}}};
      if (random() % 2 == 0) pool.windows.pad_lo = {0, size / 2, size / 2};
      pool.footprint = {.shape = {depth, size, size}, .taps = random_taps(random, depth * size * size, size * size)};
      constexpr Dtype kTypes[] = {Dtype::u8, Dtype::u16, Dtype::f32, Dtype::i64};
      const Dtype dtype = kTypes[random() % std::size(kTypes)];
      StatisticCase c;
      c.problem = make_problem(pool, dtype, Extents{pick(random, 3, 5), pick(random, 5, 9), pick(random, 5, 100)});
      c.data = kAllData[random() % 4];
      c.x = fill(dtype, element_count(c.problem.shape), c.data, random);
      ASSERT_EQ(check_statistic_forward(c, Layout::dense, Layout::dense, {}), "")
          << "seed " << seed << " problem " << i << " by " << cpu::active_target() << " " << to_string(c.problem);
    }
  }
  cpu::set_target("");
}

INSTANTIATE_TEST_SUITE_P(Strategies, Ranks, testing::Values("networks", "masked_networks", "histogram"),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace oriel::test
