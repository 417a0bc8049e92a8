// What each kernel moves, counted by the emulator: 32-byte sectors and the number and width of accesses.
// docs/portrait-network.md has the formulas.
#include "nn/cuda/device_planes.h"

namespace oriel::nn::cuda {
namespace {

std::uint64_t sectors_of(index_t floats) { return static_cast<std::uint64_t>((floats * 4 + 31) / 32); }

// Accesses of 16, 8 and 4 bytes by one thread.
struct Accesses {
  std::uint64_t vectors = 0, pairs = 0, single = 0;
  friend bool operator==(const Accesses&, const Accesses&) = default;
};
Accesses by_width(const std::uint64_t (&counts)[5]) {
  EXPECT_EQ(counts[0] + counts[1], 0U);
  return {counts[4], counts[3], counts[2]};
}

std::vector<float> ones(index_t count) { return std::vector<float>(static_cast<std::size_t>(count), 1.0F); }

class CudaTraffic : public testing::Test {
 protected:
  void SetUp() override {
    grid::options() = {.count = true};
    grid::reset();
  }
  void TearDown() override { grid::options() = {}; }
};

// Every sector of the input, weights and results moves. A tile's inputs come with a row and a vector of columns around
// them, once for each tile of channels, and the weights once for each tile of places, all as vectors.
TEST_F(CudaTraffic, ConvolutionReadsTilesOnce) {
  constexpr int kInputs = 8, kOutputs = 128, kHeight = 16, kWidth = 64;
  const std::vector<float> x = ones(kInputs * kHeight * kWidth);
  const DevicePlanes dx({kInputs, kHeight, kWidth}, "x", &x), dy({kOutputs, kHeight, kWidth}, "y"),
      dp({kOutputs, kHeight / 2, kWidth / 2}, "pooled");
  const DeviceValues dw(ones(kInputs * 9 * kOutputs), "weights"), db(ones(kOutputs), "bias");
  grid::reset();
  convolve({dx.view(), dy.view(), dp.view(), dw.data(), db.data(), kInputs, kOutputs, kHeight, kWidth}, {8, 1},
           nullptr);
  const grid::Report& r = grid::report();
  EXPECT_TRUE(r.failures.empty()) << r.failures[0];
  const std::uint64_t out = kOutputs * kHeight * kWidth;
  EXPECT_EQ(r.distinct_read_sectors,
            sectors_of(kInputs * kHeight * kWidth) + sectors_of(kInputs * 9 * kOutputs) + sectors_of(kOutputs));
  EXPECT_EQ(r.distinct_write_sectors, (out + out / 4) / 8);
  // 2 x 2 tiles of places, two of channels. Of 10 rows of 10 vectors one of each is outside of this small image.
  const std::uint64_t blocks = 8, threads = 256;
  const std::uint64_t inputs = kInputs * 9 * 9, weights = kInputs * 9 * 64 / 4, biases = threads * 8;
  EXPECT_EQ(by_width(r.reads_by_width), (Accesses{blocks * (inputs + weights), 0, blocks * biases}));
  EXPECT_EQ(by_width(r.writes_by_width), (Accesses{out / 4, out / 4 / 2, 0}));
  EXPECT_EQ(r.shared_bytes, 2 * 4 * (10 * 40 + 9 * 64) * sizeof(float));
  EXPECT_EQ(r.barriers, blocks * kInputs / 4);  // one for each four channels
}

TEST_F(CudaTraffic, RaiseAndHeadMoveVectors) {
  constexpr int kInputs = 16, kOutputs = 64, kHeight = 8, kWidth = 64;
  const std::vector<float> x = ones(kInputs * kHeight * kWidth);
  const DevicePlanes dx({kInputs, kHeight, kWidth}, "x", &x), dy({kOutputs, 2 * kHeight, 2 * kWidth}, "y"),
      dl({1, kHeight, kWidth}, "logits");
  const DeviceValues dw(ones(kInputs * 4 * kOutputs), "weights"), db(ones(kOutputs), "bias");
  const grid::Report& r = grid::report();
  const std::uint64_t in = kInputs * kHeight * kWidth, out = kOutputs * kHeight * kWidth * 4;
  grid::reset();
  raise({dx.view(), dy.view(), dw.data(), db.data(), kInputs, kOutputs, kHeight, kWidth}, {8, 1}, nullptr);
  EXPECT_EQ(r.distinct_read_sectors, in / 8 + sectors_of(kInputs * 4 * kOutputs) + sectors_of(kOutputs));
  EXPECT_EQ(r.distinct_write_sectors, out / 8);
  const std::uint64_t tiles = 4, channel_tiles = 2, threads = 256;
  EXPECT_EQ(by_width(r.reads_by_width),
            (Accesses{channel_tiles * in / 4 + tiles * kInputs * kOutputs, 0, tiles * channel_tiles * threads * 4}));
  EXPECT_EQ(by_width(r.writes_by_width), (Accesses{out / 4, 0, 0}));
  grid::reset();
  head({dx.view(), dl.view(), dw.data(), db.data(), kInputs, 1, kHeight, kWidth}, nullptr);
  EXPECT_EQ(r.distinct_read_sectors, in / 8 + sectors_of(kInputs) + 1);
  const std::uint64_t head_threads = kHeight * kWidth / 4;
  EXPECT_EQ(by_width(r.reads_by_width), (Accesses{in / 4, 0, head_threads * (kInputs + 1)}));
  EXPECT_EQ(by_width(r.writes_by_width), (Accesses{head_threads, 0, 0}));
  EXPECT_TRUE(r.failures.empty()) << r.failures[0];
}

}  // namespace
}  // namespace oriel::nn::cuda
