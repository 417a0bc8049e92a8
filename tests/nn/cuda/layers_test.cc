// Each kernel against loops over its definition, to the last bit: sizes that fill no tile, pitches, places that are not
// aligned, every tile, every schedule.
#include <cmath>
#include <limits>

#include "nn/cuda/device_planes.h"

namespace oriel::nn::cuda {
namespace {

std::size_t at(const PlaneShape& s, int c, int y, int x) {
  return static_cast<std::size_t>((c * s.height + y) * s.width + x);
}

// The order of sums that layers.h states; a missing tap is left out. Weights [outputs][inputs][3][3].
std::vector<float> convolved(const PlaneShape& in, int outputs, const std::vector<float>& x,
                             const std::vector<float>& weights, const std::vector<float>& bias) {
  std::vector<float> out;
  for (int o = 0; o < outputs; ++o)
    for (int r = 0; r < in.height; ++r)
      for (int c = 0; c < in.width; ++c) {
        float sum = 0;
        for (int i = 0; i < in.channels; ++i)
          for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) {
              const int y = r + dy - 1, z = c + dx - 1;
              if (y < 0 || y >= in.height || z < 0 || z >= in.width) continue;
              sum = std::fma(x[at(in, i, y, z)],
                             weights[static_cast<std::size_t>(((o * in.channels + i) * 3 + dy) * 3 + dx)], sum);
            }
        const float value = sum + bias[static_cast<std::size_t>(o)];
        out.push_back(std::isnan(value) || value > 0 ? value : 0.0F);
      }
  return out;
}

// 2x2 maxima of whole windows, NaN where there is one.
std::vector<float> maxima(const PlaneShape& s, const std::vector<float>& x) {
  std::vector<float> out;
  for (int c = 0; c < s.channels; ++c)
    for (int r = 0; r + 1 < s.height; r += 2)
      for (int k = 0; k + 1 < s.width; k += 2) {
        float most = x[at(s, c, r, k)];
        for (float v : {x[at(s, c, r, k + 1)], x[at(s, c, r + 1, k)], x[at(s, c, r + 1, k + 1)]})
          if (v > most || std::isnan(v)) most = v;
        out.push_back(most);
      }
  return out;
}

// [outputs][inputs][taps] -> [inputs][taps][padded], what convolve() reads.
std::vector<float> packed(const std::vector<float>& weights, int outputs, int rows, int padded) {
  std::vector<float> out(static_cast<std::size_t>(rows * padded), -99.0F);  // what is padded reaches no result
  for (int o = 0; o < outputs; ++o)
    for (int row = 0; row < rows; ++row)
      out[static_cast<std::size_t>(row * padded + o)] = weights[static_cast<std::size_t>(o * rows + row)];
  return out;
}

struct Gaps {
  int row = 0, plane = 0, offset = 0;
};

PlaneShape with(PlaneShape shape, const Gaps& gaps) {
  shape.row_gap = gaps.row;
  shape.plane_gap = gaps.plane;
  shape.offset = gaps.offset;
  return shape;
}

void check_convolution(const PlaneShape& in, int outputs, ConvolutionTile tile, const Gaps& gaps, bool pooled) {
  SCOPED_TRACE(testing::Message() << in.channels << " to " << outputs << " at " << in.height << "x" << in.width
                                  << ", tile " << tile.groups << "," << tile.bands << ", gaps " << gaps.row << ","
                                  << gaps.plane << "," << gaps.offset);
  const auto seed = static_cast<std::uint32_t>(in.channels * 100 + outputs);
  const int rows = in.channels * 9, padded = (outputs + tile.outputs() - 1) / tile.outputs() * tile.outputs();
  const std::vector<float> x = random_values(static_cast<std::size_t>(in.channels * in.height * in.width), seed);
  const std::vector<float> weights = random_values(static_cast<std::size_t>(outputs * rows), seed + 1);
  const std::vector<float> bias = random_values(static_cast<std::size_t>(outputs), seed + 2);
  const PlaneShape out{outputs, in.height, in.width}, half{outputs, in.height / 2, in.width / 2};
  const std::vector<float> wanted = convolved(in, outputs, x, weights, bias);
  in_every_order([&] {
    const DevicePlanes dx(with(in, gaps), "x", &x), dy(with(out, gaps), "y"), dp(with(half, gaps), "pooled");
    const DeviceValues dw(packed(weights, outputs, rows, padded), "weights"), db(bias, "bias");
    convolve({dx.view(), dy.view(), pooled ? dp.view() : Planes{}, dw.data(), db.data(), in.channels, outputs,
              in.height, in.width},
             tile, nullptr);
    expect_same_bits(dy.values(), wanted);
    if (pooled) expect_same_bits(dp.values(), maxima(out, wanted));
  });
}

constexpr ConvolutionTile kTiles[] = {{8, 1}, {4, 1}, {2, 2}, {1, 4}};
constexpr Gaps kDense{}, kAligned{4, 12, 8}, kOdd{3, 1, 1};

TEST(CudaConvolution, EveryTileAndPitch) {
  for (const ConvolutionTile& tile : kTiles)
    for (const Gaps& gaps : {kDense, kAligned, kOdd}) {
      check_convolution({5, 10, 36}, tile.outputs() + 3, tile, gaps, true);
      check_convolution({4, 9, 7}, 3, tile, gaps, true);
    }
}

TEST(CudaConvolution, SizesAroundTiles) {
  for (const auto& [height, width] : {std::pair(1, 1), {1, 5}, {2, 2}, {3, 4}, {8, 32}, {9, 33}, {7, 31}, {17, 64}})
    check_convolution({3, height, width}, 6, {1, 4}, kDense, height > 1 && width > 1);
  for (const auto& [height, width] : {std::pair(8, 32), {9, 36}, {16, 68}})
    check_convolution({2, height, width}, 16, {2, 2}, kDense, true);
}

TEST(CudaConvolution, NumbersOfChannels) {
  for (int inputs : {1, 3, 4, 5, 8, 13})
    for (int outputs : {1, 8, 9, 33}) check_convolution({inputs, 4, 8}, outputs, {4, 1}, kDense, inputs % 2 == 0);
}

TEST(CudaConvolution, NotANumberStays) {
  const PlaneShape in{2, 4, 8}, out{3, 4, 8};
  std::vector<float> x = random_values(64, 1);
  x[at(in, 1, 2, 5)] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> weights = random_values(3 * 18, 2), bias(3);
  const std::vector<float> wanted = convolved(in, 3, x, weights, bias), most = maxima(out, wanted);
  in_every_order([&] {
    const DevicePlanes dx(in, "x", &x), dy(out, "y"), dp({3, 2, 4}, "pooled");
    const DeviceValues dw(packed(weights, 3, 18, 8), "weights"), db(bias, "bias");
    convolve({dx.view(), dy.view(), dp.view(), dw.data(), db.data(), 2, 3, 4, 8}, {1, 4}, nullptr);
    const std::vector<float> y = dy.values(), p = dp.values();
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), std::isnan(wanted[i])) << i;
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(std::isnan(p[i]), std::isnan(most[i])) << i;
    EXPECT_EQ(std::count_if(y.begin(), y.end(), [](float v) { return std::isnan(v); }), 3 * 9);
  });
}

// Large layers of a large device take 64 channels; where those would leave it idle 32; few channels take few.
TEST(CudaConvolution, TilesFitTheLayer) {
  const auto groups = [](index_t outputs, index_t side, int multiprocessors) {
    return pick_tile(outputs, side, side, multiprocessors).groups;
  };
  EXPECT_EQ(groups(64, 512, 132), 8);
  EXPECT_EQ(groups(1024, 32, 132), 4);
  EXPECT_EQ(groups(1024, 32, 1), 8);
  EXPECT_EQ(groups(32, 512, 132), 4);
  EXPECT_EQ(groups(16, 512, 132), 2);
  EXPECT_EQ(groups(8, 512, 132), 1);
}

TEST(CudaPool, MatchesTheDefinition) {
  for (const auto& [height, width] : {std::pair(2, 2), {3, 5}, {4, 8}, {9, 36}, {10, 6}, {33, 66}})
    for (const Gaps& gaps : {kDense, kAligned, kOdd}) {
      SCOPED_TRACE(testing::Message() << height << "x" << width << ", gaps " << gaps.row);
      const PlaneShape in{5, height, width}, half{5, height / 2, width / 2};
      std::vector<float> x = random_values(static_cast<std::size_t>(5 * height * width), 4);
      x[at(in, 3, 1, 1)] = std::numeric_limits<float>::quiet_NaN();
      in_every_order([&] {
        const DevicePlanes dx(with(in, gaps), "x", &x), dy(with(half, gaps), "y");
        pool({dx.view(), dy.view(), 5, height, width}, nullptr);
        expect_same_bits(dy.values(), maxima(in, x));
      });
    }
}

void check_raise(const PlaneShape& in, int outputs, RaiseTile tile, const Gaps& gaps) {
  SCOPED_TRACE(testing::Message() << in.channels << " to " << outputs << " at " << in.height << "x" << in.width
                                  << ", tile " << tile.groups << "," << tile.bands << ", gaps " << gaps.row);
  const int padded = (outputs + tile.outputs() - 1) / tile.outputs() * tile.outputs();
  const std::vector<float> x = random_values(static_cast<std::size_t>(in.channels * in.height * in.width), 5);
  const std::vector<float> weights = random_values(static_cast<std::size_t>(in.channels * padded * 4), 6);
  const std::vector<float> bias = random_values(static_cast<std::size_t>(outputs), 7);
  std::vector<float> wanted;
  for (int o = 0; o < outputs; ++o)
    for (int r = 0; r < 2 * in.height; ++r)
      for (int c = 0; c < 2 * in.width; ++c) {
        float sum = 0;
        for (int i = 0; i < in.channels; ++i)
          sum = std::fma(x[at(in, i, r / 2, c / 2)],
                         weights[static_cast<std::size_t>((i * padded + o) * 4 + r % 2 * 2 + c % 2)], sum);
        wanted.push_back(sum + bias[static_cast<std::size_t>(o)]);
      }
  in_every_order([&] {
    const DevicePlanes dx(with(in, gaps), "x", &x), dy(with({outputs, 2 * in.height, 2 * in.width}, gaps), "y");
    const DeviceValues dw(weights, "weights"), db(bias, "bias");
    raise({dx.view(), dy.view(), dw.data(), db.data(), in.channels, outputs, in.height, in.width}, tile, nullptr);
    expect_same_bits(dy.values(), wanted);
  });
}

TEST(CudaRaise, MatchesTheDefinition) {
  for (const RaiseTile& tile : {RaiseTile{8, 1}, RaiseTile{2, 4}}) {
    for (const Gaps& gaps : {kDense, kAligned, kOdd}) {
      check_raise({9, 5, 36}, tile.outputs() + 3, tile, gaps);
      check_raise({3, 3, 5}, 2, tile, gaps);
    }
    for (const auto& [height, width] : {std::pair(1, 1), {2, 1}, {4, 32}, {17, 33}})
      check_raise({8, height, width}, 5, tile, kDense);
  }
  EXPECT_EQ(pick_raise_tile(8).outputs(), 8);
  EXPECT_EQ(pick_raise_tile(64).outputs(), 32);
}

void check_head(const PlaneShape& in, int classes, const Gaps& gaps) {
  SCOPED_TRACE(testing::Message() << in.channels << " to " << classes << " at " << in.height << "x" << in.width
                                  << ", gaps " << gaps.row);
  const std::vector<float> x = random_values(static_cast<std::size_t>(in.channels * in.height * in.width), 8);
  const std::vector<float> weights = random_values(static_cast<std::size_t>(in.channels * classes), 9);
  const std::vector<float> bias = random_values(static_cast<std::size_t>(classes), 10);
  std::vector<float> wanted;
  for (int k = 0; k < classes; ++k)
    for (int p = 0; p < in.height * in.width; ++p) {
      float sum = 0;
      for (int i = 0; i < in.channels; ++i)
        sum = std::fma(x[at(in, i, 0, p)], weights[static_cast<std::size_t>(k * in.channels + i)], sum);
      wanted.push_back(sum + bias[static_cast<std::size_t>(k)]);
    }
  in_every_order([&] {
    const DevicePlanes dx(with(in, gaps), "x", &x), dy(with({classes, in.height, in.width}, gaps), "y");
    const DeviceValues dw(weights, "weights"), db(bias, "bias");
    head({dx.view(), dy.view(), dw.data(), db.data(), in.channels, classes, in.height, in.width}, nullptr);
    expect_same_bits(dy.values(), wanted);
  });
}

TEST(CudaHead, MatchesTheDefinition) {
  for (int classes : {1, 2, 4, 7})
    for (const Gaps& gaps : {kDense, kAligned, kOdd}) {
      check_head({5, 9, 40}, classes, gaps);
      check_head({16, 3, 7}, classes, gaps);
    }
  check_head({1, 1, 1}, 1, kDense);
}

}  // namespace
}  // namespace oriel::nn::cuda
