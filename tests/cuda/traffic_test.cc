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
  double asked;             // sectors that warps ask for over those of the bound, at most: what was counted, and 3%
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
      p_.indices ? oriel::forward(p_, {.x = x.view(), .y = y.view(), .indices = index.view()})
                 : oriel::forward(p_, {.x = x.view(), .y = y.view()});
      c.kernel = cuda::kernel_of(p_, x.view(), y.view(), places);
    } else if (picks_) {
      oriel::backward(p_, {.x = x.view(), .dy = y.view(), .dx = dx.view()});
      c.bound += sectors(dx.view());
    } else {
      oriel::backward(p_, {.dy = y.view(), .dx = dx.view()});
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
    {"strip", "max:f32:2x4x56x128:k2x2", 1.01, 0.99},
    {"strip", "max:f16:2x4x56x128:k2x2", 1.05, 0.99},
    {"strip", "avg:bf16:2x4x56x128:k2x2", 1.05, 0.99},
    {"strip", "max:u8:2x4x56x512:k2x2", 1.01, 0.99},
    {"strip", "max:bf16:2x4x56x256:k3x3s2p1", 1.13, 0.99},
    {"strip", "max:u8:2x4x56x512:k3x3s2p1", 1.13, 0.99},
    {"strip", "avg:f32:2x4x57x128:k3x3s2", 1.42, 0.99},
    {"strip", "max:f32:2x4x57x112:k2x2", 1.01, 0.99},
    {"strip", "max:f32:2x4x55x55:k2x2", 1.43, 0.99},
    {"strip", "max:f16:2x4x55x55:k2x2", 2.08, 0.99},
    {"strip", "max:u8:2x4x55x255:k2x2", 1.64, 0.98},
    {"strip", "avg:f32:2x4x55x55:k3x3s2p1", 1.67, 0.98},
    {"strip", "max:f32:2x4x55x55:k3x3s1p1", 1.83, 0.98},
    {"strip", "max:f16:2x4x55x55:k3x3s1p1", 2.94, 0.99},
    {"strip", "avg:f32:16x8x13x13:k3x3s1p1", 2.58, 0.99},
    {"strip", "max:f32:32x16x7x7:k2x2", 2.81, 0.99},
    {"strip", "max:f32:32x16x7x7:k3x3s1p1", 3.37, 0.99},
    {"strip", "max:f32:2x4x7x55x55:k2x2x2", 1.23, 0.99},
    {"strip", "max:f32:2x4x55x55:k3x3s2p1:indices", 1.55, 0.98},
    {"strip", "max:f32:2x4x56x128:k3x3s2p1", 1.13, 0.99},
    {"strip", "avg:f16:2x4x56x256:k3x3s2p1", 1.13, 0.99},
    {"strip", "max:f32:2x4x56x128:k3x3s1p1", 1.15, 0.99},
    {"strip", "max:u8:2x4x56x512:k3x3s1p1", 1.15, 0.99},
    {"strip", "avg:bf16:2x4x56x256:k3x3s1p1", 1.15, 0.99},
    {"strip", "max:f32:1x4x8x16x128:k2x2x2", 1.01, 0.99},
    {"strip", "avg:f16:1x4x8x16x256:k2x2x2", 1.01, 0.99},
    {"strip", "max:u8:1x4x8x16x512:k2x2x2", 1.01, 0.99},
    {"lanes", "max:f32:2x28x28x64:k2s2:axes1,2", 1.01, 0.99},
    {"lanes", "avg:f16:2x28x28x64:k2s2:axes1,2", 1.01, 0.99},
    {"lanes", "max:bf16:2x28x28x64:k2s2:axes1,2", 1.01, 0.99},
    {"lanes", "max:u8:2x28x28x64:k2s2:axes1,2", 1.01, 0.99},
    {"lanes", "max:f32:2x28x28x64:k3s2p1:axes1,2", 1.68, 0.99},
    {"lanes", "avg:bf16:2x28x28x64:k3s2p1:axes1,2", 1.68, 0.99},
    {"lanes", "max:u8:2x28x28x64:k3s2p1:axes1,2", 1.97, 0.99},
    {"lanes", "max:f16:2x28x28x64:k3s1p1:axes1,2", 2.67, 0.99},
    {"lanes", "max:f16:2x28x28x64:k3s2p1:axes1,2", 1.68, 0.99},
    {"lanes", "max:u8:2x28x28x64:k3s1p1:axes1,2", 4.88, 0.99},
    {"stream", "max:f32:1x1x300x256:k15x15s1p7", 1.44, 0},
    {"stream", "max:f32:1x1x300x256:k31x31s1p15", 1.43, 0},
    {"stream", "avg:f16:1x1x300x256:k31x31s1p15", 1.61, 0},
    {"stream", "max:bf16:1x1x300x256:k15x15s1p7", 1.62, 0},
    {"stream", "max:u8:1x1x300x256:k15x15s1p7", 1.99, 0},
    {"stream", "max:u8:1x1x300x256:k31x31s1p15", 1.97, 0},
    {"stream", "max:f32:1x1x300x255:k31x31s1p15", 1.56, 0},
    {"", "max:f32:2x4x56x128:k2x2:backward", 1.01, 0.79},
    {"", "max:f16:2x4x57x128:k2x2:backward", 1.01, 0.79},
    {"", "avg:bf16:2x4x56x128:k2x2:backward", 1.01, 0},
    {"", "max:f32:2x4x55x55:k2x2:backward", 1.73, 0.98, 1.06},
    {"", "avg:f32:2x4x55x55:k2x2:backward", 1.37, 0.96},
    {"", "max:f16:2x4x55x55:k2x2:backward", 2.76, 0.97, 1.12},
    {"", "max:f32:32x16x7x7:k2x2:backward", 2.98, 0.93, 1.05},
    {"", "max:f32:2x4x64x112:k3x3s2p1:backward", 1.22, 0.8},
    {"", "max:f16:2x4x64x112:k3x3s2p1:backward", 1.25, 0.8},
    {"", "max:f32:2x4x64x112:k3x3s1p1:backward", 1.25, 0.99},
    {"", "max:bf16:2x4x64x112:k3x3s1p1:backward", 1.25, 0.99},
    {"", "max:f32:2x4x55x55:k3x3s2p1:backward", 1.88, 0.8},
    {"", "max:f32:2x4x55x55:k3x3s1p1:backward", 1.82, 0.99},
    {"", "avg:f32:2x4x64x112:k3x3s2p1:backward", 1.13, 0},
    {"", "avg:f16:2x4x64x112:k3x3s1p1:backward", 1.16, 0.99},
    {"", "avg:f16:2x4x55x55:k3x3s1p1:backward", 2.91, 0.99},
    {"", "max:f32:16x8x13x13:k3x3s1p1:backward", 2.58, 0.99},
    {"", "max:f16:2x28x28x64:k2s2:axes1,2:backward", 1.01, 0.99},
    {"", "avg:f32:2x28x28x64:k2s2:axes1,2:backward", 1.25, 0.99},
    {"", "max:bf16:2x28x28x64:k3s1p1:axes1,2:backward", 6.31, 0.74, 1.34},
    {"", "max:f32:2x28x28x64:k3s2p1:axes1,2:backward", 2.23, 0.87, 1.07},  // codes are written and read
    {"", "max:f16:2x28x28x64:k3s2p1:axes1,2:backward", 2.45, 0.78, 1.12},
    {"", "avg:f32:2x28x28x64:k3s2p1:axes1,2:backward", 2.0, 0.99},
    {"strip", "max:f32:2x4x56x128:k2x2:indices", 1.01, 0.99},
    {"strip", "max:f32:2x4x56x128:k3x3s2p1:indices", 1.1, 0.99},
    {"strip", "max:f16:2x4x56x256:k3x3s1p1:indices", 1.76, 0.99},  // a thread stores 64 bytes, 16 at once
    {"lanes", "max:f32:2x28x28x64:k2s2:axes1,2:indices", 1.34, 0.99},
    {"direct", "avg:f32:600x8x7x7:global:axes2,3", 7.9, 0},
    {"staged", "max:f32:2x8x56x56:global:axes2,3", 1.01, 0.99},
    {"staged", "avg:f32:2x8x56x56:global:axes2,3", 1.01, 0.99},
    {"direct", "avg:f32:2x8x56x56:out7x7", 7.9, 0},
    {"staged", "avg:f32:2x8x56x56:out6x6", 1.01, 0.99},
    {"staged", "avg:f16:2x8x56x56:out3x3", 1.01, 0.99},
    {"staged", "max:u8:2x8x56x56:out6x6", 1.06, 0.99},
    {"staged", "max:f32:2x8x56x56:out6x6:indices", 1.01, 0.99},
    {"staged", "max:f32:1x8x16x16x64:k2s2:axes1,2,3", 1.01, 0.99},
    {"staged", "avg:f32:1x64x2x7x7:global:axes2,3,4", 1.26, 0.97},
    {"staged", "max:f32:1x2x16x56x56:k3x3x3s1p1", 1.45, 0.99},
    {"staged", "avg:f32:1x2x16x56x56:k3x3x3s1p1", 1.31, 0.99},
    {"direct", "max:f32:1x2x16x56x56:k3x3x3s2p1", 9, 0},
    {"staged", "max:f32:1x1x64x64:k3x3s1p2d2", 1.13, 0.99},
    {"staged", "max:f32:1x120x160x3:k3s2p1:axes1,2", 1.3, 0.98},
    {"staged", "avg:u8:1x120x160x3:k2s2:axes1,2", 1.5, 0.99},
    {"staged", "max:f32:1x1x100000:k3s1p1:axes2", 1.2, 0.99},
    {"lane columns", "avg:f32:4x7x7x256:global:axes1,2", 1.01, 0.99},
    {"lane columns", "avg:f16:1x56x56x64:out7:axes1,2", 1.01, 0.99},
    {"lane columns", "max:f32:1x56x56x64:out6:axes1,2", 1.11, 0.99},
    {"", "avg:f32:1x4x16x32x32:k2x2x2:backward", 1.1, 0.99},
    {"", "avg:f32:1x4x16x32x32:k3x3x3s1p1:backward", 1.34, 0.99},
    {"", "avg:f32:1x1x200x200:k15x15s1p7:backward", 1.59, 0.99},
    {"", "avg:f32:4x8x56x56:out6x6:backward", 1.12, 0.82},
    {"", "avg:f32:4x7x7x256:global:axes1,2:backward", 1.23, 0.99},
    {"", "max:f32:1x4x16x32x32:k2x2x2:backward", 1.12, 0.99, 1.04},  // codes are written and read
    {"", "max:f32:1x2x16x28x28:k3x3x3s1p1:backward", 2.06, 0.99, 1.18},
    {"", "max:f32:1x1x96x96:k15x15s1p7:backward", 1.57, 0.99, 1.18},
    {"", "max:f32:1x40x60x3:k3s2p1:axes1,2:backward", 1.26, 0.99, 1.07},
    {"gather", "lp2:f32:1x1x64x64:k3x3s1p1", 5.62, 0},
};

INSTANTIATE_TEST_SUITE_P(Kernels, TrafficTest, testing::ValuesIn(kTraffic), [](const auto& of) {
  std::string name = of.param.problem;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace oriel::test
