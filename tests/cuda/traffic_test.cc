// What each kernel moves, counted by the emulator: which kernel a problem takes, 32-byte sectors against the bound
// (every input and output once), the width of accesses. docs/cuda.md shows the table that ORIEL_WRITE_TRAFFIC=file
// writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>

#include "cuda/device_tensor.h"
#include "cuda/run.h"
#include "emulator/grid.h"
#include "oriel/pool.h"
#include "pool/fill.h"

namespace oriel::test {
namespace {

struct Traffic {
  const char* kernel;
  const char* problem;
  double asked;             // sectors that warps ask for over those of the bound, at most
  double wide;              // share of the bytes read that come in accesses of 16, at least
  double distinct = 1.001;  // different sectors over those of the bound, at most
};

struct Counted {
  std::string kernel;
  double bound = 0;  // sectors of every operand once
  double distinct = 0, asked = 0, wide = 0;
};

double sectors(const ConstTensor& t) {
  return static_cast<double>((element_count(t.shape) * size_bytes(t.dtype) + 31) / 32);
}

// One call in its dense layout, by the name's direction, with int64 indices where it says so.
class Call {
 public:
  explicit Call(const Problem& p) : p_(p), backward_(p.direction == Direction::backward), picks_(p.pool.op == Op::max) {
    std::mt19937_64 random(5);
    x_ = fill(p.dtype, element_count(p.shape), Data::reals, random);
    if (backward_) dy_ = fill(p.dtype, element_count(p.output_shape), Data::reals, random);
  }

  // Counts it; the result's bits are added to `bits`.
  Counted run(std::vector<std::byte>& bits) {
    DeviceTensor x(p_.dtype, p_.shape, Layout::dense, x_.data(), p_.order);
    DeviceTensor y(p_.dtype, p_.output_shape, Layout::dense, backward_ ? dy_.data() : nullptr, p_.order);
    DeviceTensor dx(p_.dtype, p_.shape, Layout::dense, nullptr, p_.order);
    DeviceTensor index(Dtype::i64, p_.output_shape, Layout::dense, nullptr, p_.order);
    const Tensor* const places = p_.indices ? &index.view() : nullptr;
    Counted c;
    c.bound = sectors(x.view()) + sectors(y.view()) + (p_.indices ? sectors(index.view()) : 0);
    grid::reset();
    if (!backward_) {
      p_.indices ? oriel::forward(p_, x.view(), y.view(), index.view()) : oriel::forward(p_, x.view(), y.view());
      c.kernel = cuda::kernel_of(p_, x.view(), y.view(), places);
    } else if (picks_) {
      oriel::backward(p_, x.view(), y.view(), dx.view());
      c.bound += sectors(dx.view());
    } else {
      oriel::backward(p_, y.view(), dx.view());
    }
    const grid::Report& r = grid::report();
    EXPECT_TRUE(r.failures.empty()) << r.failures[0];
    EXPECT_EQ(r.rewritten, 0U);
    c.distinct = static_cast<double>(r.distinct_read_sectors + r.distinct_write_sectors);
    c.asked = static_cast<double>(r.read_sectors + r.write_sectors);
    double bytes = 0;
    for (int i = 0; i < 5; ++i) bytes += static_cast<double>(r.reads_by_width[i] << i);
    c.wide = static_cast<double>(r.reads_by_width[4] << 4) / bytes;
    bits = (backward_ ? dx : y).fetch().dense();
    if (!p_.indices) return c;
    const std::vector<std::byte> chosen = index.fetch().dense();
    bits.insert(bits.end(), chosen.begin(), chosen.end());
    return c;
  }

 private:
  const Problem& p_;
  bool backward_, picks_;
  std::vector<std::byte> x_, dy_;
};

Counted count(const Problem& p) {
  Call call(p);
  Counted c;
  std::vector<std::byte> first, bits;
  for (const grid::Order order : {grid::Order::forward, grid::Order::reverse, grid::Order::random}) {
    const std::uint8_t poison = order == grid::Order::reverse ? 0 : 0xdb;
    grid::options() = {.order = order, .seed = 11, .poison = poison, .count = true};
    c = call.run(bits);
    if (first.empty()) first = bits;
    EXPECT_EQ(bits, first) << to_string(p) << ": the order of threads or what memory held before changes the result";
  }
  return c;
}

class TrafficTest : public testing::TestWithParam<Traffic> {};

TEST_P(TrafficTest, IsThatOfTheBound) {
  const Traffic& t = GetParam();
  const Counted c = count(parse_problem(t.problem));
  EXPECT_EQ(c.kernel, t.kernel);
  EXPECT_LE(c.distinct, t.distinct * c.bound) << "of " << c.bound << " sectors";
  EXPECT_LE(c.asked, t.asked * c.bound) << "of " << c.bound << " sectors, " << c.asked / c.bound;
  EXPECT_GE(c.wide, t.wide);
  if (const char* path = std::getenv("ORIEL_WRITE_TRAFFIC")) {
    std::ofstream file(path, std::ios::app);
    char line[256];
    std::snprintf(line, sizeof line, "| `%s` | %s | %.2f | %.2f | %.0f%% |\n", t.problem,
                  c.kernel.empty() ? "backward" : c.kernel.c_str(), c.distinct / c.bound, c.asked / c.bound,
                  100 * c.wide);
    file << line;
  }
}

constexpr Traffic kTraffic[] = {
    {"strip", "max:f32:2x4x56x128:k2", 1.01, 1.0},
    {"strip", "max:f16:2x4x56x128:k2", 1.01, 1.0},
    {"strip", "avg:bf16:2x4x56x128:k2", 1.01, 1.0},
    {"strip", "max:u8:2x4x56x512:k2", 1.01, 1.0},
    {"strip", "max:f32:2x4x57x112:k2", 1.01, 1.0},
    {"strip", "max:f32:2x4x55x55:k2", 2.3, 0},  // rows that are not aligned: two scalars for each output
    {"strip", "max:f32:2x4x56x128:k3s2p1", 1.15, 0.97},
    {"strip", "avg:f16:2x4x56x256:k3s2p1", 1.15, 0.97},
    {"strip", "max:f32:2x4x56x128:k3s1p1", 1.15, 0.97},
    {"strip", "max:u8:2x4x56x512:k3s1p1", 1.15, 0.97},
    {"strip", "max:f32:1x4x8x16x128:k2", 1.01, 1.0},
    {"lanes", "max:f32:2x28x28x64:k2s2:axes1,2", 1.01, 1.0},
    {"lanes", "avg:f16:2x28x28x64:k2s2:axes1,2", 1.01, 1.0},
    {"lanes", "max:f16:2x28x28x64:k3s2p1:axes1,2", 2.0, 1.0},  // shared taps from the caches
    {"lanes", "max:u8:2x28x28x64:k3s1p1:axes1,2", 5.0, 1.0},
    {"stream", "max:f32:1x1x300x256:k15s1p7", 1.5, 0},
    {"stream", "max:f32:1x1x300x256:k31s1p15", 1.5, 0},
    {"stream", "avg:f16:1x1x300x256:k31s1p15", 1.6, 0},
    {"", "max:f32:2x4x56x128:k2:backward", 1.01, 0.8},
    {"", "max:f16:2x4x57x128:k2:backward", 1.01, 0.8},
    {"", "avg:bf16:2x4x56x128:k2:backward", 1.01, 0},
    {"", "max:f32:2x4x64x112:k3s2p1:backward", 1.25, 0.8},
    {"", "max:f16:2x4x64x112:k3s2p1:backward", 1.25, 0.7},
    {"", "max:f32:2x4x64x112:k3s1p1:backward", 1.25, 1.0},
    {"", "max:bf16:2x4x64x112:k3s1p1:backward", 1.25, 1.0},
    {"", "max:f32:2x4x55x55:k3s2p1:backward", 3.5, 0},  // rows that are not aligned
    {"", "max:f32:2x4x55x55:k3s1p1:backward", 3.5, 0},
    {"", "avg:f32:2x4x64x112:k3s2p1:backward", 1.25, 0},
    {"", "avg:f16:2x4x64x112:k3s1p1:backward", 1.25, 1.0},
    {"", "max:f16:2x28x28x64:k2s2:axes1,2:backward", 1.01, 1.0},
    {"", "max:f32:2x28x28x64:k3s2p1:axes1,2:backward", 2.4, 0.8, 1.06},  // codes are written and read
    {"", "max:f16:2x28x28x64:k3s2p1:axes1,2:backward", 2.6, 0.8, 1.12},
    {"", "avg:f32:2x28x28x64:k3s2p1:axes1,2:backward", 2.0, 1.0},
    {"strip", "max:f32:2x4x56x128:k2:indices", 1.01, 1.0},
    {"strip", "max:f32:2x4x56x128:k3s2p1:indices", 1.15, 0.97},
    {"strip", "max:f16:2x4x56x256:k3s1p1:indices", 1.75, 0.97},  // a thread stores 64 bytes, 16 at once
    {"lanes", "max:f32:2x28x28x64:k2s2:axes1,2:indices", 1.3, 1.0},
    {"staged", "avg:f32:600x8x7x7:global", 1.1, 0.9},
    {"staged", "max:f32:2x8x56x56:global", 1.01, 1.0},
    {"staged", "avg:f32:2x8x56x56:global", 1.01, 1.0},
    {"staged", "avg:f32:2x8x56x56:out7", 1.01, 1.0},
    {"staged", "avg:f32:2x8x56x56:out6", 1.1, 1.0},
    {"staged", "avg:f16:2x8x56x56:out3", 1.1, 1.0},
    {"staged", "max:u8:2x8x56x56:out6", 1.1, 1.0},
    {"staged", "max:f32:2x8x56x56:out6:indices", 1.1, 1.0},
    {"staged", "avg:f32:1x64x2x7x7:global", 1.25, 0.9},
    {"staged", "max:f32:1x2x16x56x56:k3s1p1", 1.6, 0.9},
    {"staged", "avg:f32:1x2x16x56x56:k3s1p1", 1.6, 0.9},
    {"staged", "max:f32:1x2x16x56x56:k3s2p1", 1.6, 0.9},
    {"staged", "max:f32:1x1x64x64:k3s1p2d2", 1.6, 0.9},
    {"staged", "max:f32:1x120x160x3:k3s2p1:axes1,2", 1.6, 0.9},
    {"staged", "avg:u8:1x120x160x3:k2s2:axes1,2", 1.6, 0.9},
    {"staged", "max:f32:1x1x100000:k3s1p1", 1.6, 0.9},
    {"lane columns", "avg:f32:4x7x7x256:global:axes1,2", 1.01, 1.0},
    {"lane columns", "avg:f16:1x56x56x64:out7:axes1,2", 1.01, 1.0},
    {"lane columns", "max:f32:1x56x56x64:out6:axes1,2", 1.3, 1.0},
    {"", "avg:f32:1x4x16x32x32:k2:backward", 1.6, 0},
    {"", "avg:f32:1x4x16x32x32:k3s1p1:backward", 1.6, 0},
    {"", "avg:f32:1x1x200x200:k15s1p7:backward", 1.6, 0},
    {"", "avg:f32:4x8x56x56:out6:backward", 1.6, 0},
    {"", "avg:f32:4x7x7x256:global:axes1,2:backward", 1.6, 0},
    {"", "max:f32:1x4x16x32x32:k2:backward", 1.3, 0.9, 1.2},  // codes are written and read
    {"", "max:f32:1x2x16x28x28:k3s1p1:backward", 2.2, 0.8, 1.3},
    {"", "max:f32:1x1x96x96:k15s1p7:backward", 5.0, 0.8, 1.3},
    {"", "max:f32:1x40x60x3:k3s2p1:axes1,2:backward", 2.0, 0.8, 1.2},
    {"gather", "lp2:f32:1x1x64x64:k3s1p1", 7.5, 0},
};

INSTANTIATE_TEST_SUITE_P(Kernels, TrafficTest, testing::ValuesIn(kTraffic), [](const auto& of) {
  std::string name = of.param.problem;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace oriel::test
