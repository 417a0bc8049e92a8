// Networks on a device against their definition, block by block: for the grid emulator and for a real device, where
// nothing but nvcc and CMake may be. Prints what differs; exits 1 for any.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "nn/naive_unet.h"

namespace oriel::nn {
namespace {

constexpr double kMost = 1e-5;  // of a block's greatest value

struct Case {
  NaiveUNet net;
  index_t height, width;
};

// Every tile, with and without vectors, one pixel at the bottom, both orders of joined channels.
std::vector<Case> cases() {
  return {{{.widths = {8, 16}}, 16, 24},
          {{.widths = {16, 32, 64}, .milesial = true, .bias = false}, 32, 64},
          {{.classes = 2, .widths = {64, 72}}, 34, 66},
          {{.input_channels = 1, .classes = 3, .widths = {5, 7, 19}, .milesial = true}, 4, 4},
          {{.input_channels = 20, .widths = {3, 4}}, 2, 6},
          {{.classes = 5, .widths = {8, 24, 12, 40}}, 40, 72},
          {{.widths = {8, 16, 32, 64, 128}}, 64, 64}};
}

double difference(std::span<const float> own, const std::vector<double>& wanted) {
  double apart = 0, largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double d = std::fabs(own[i] - wanted[i]);
    apart = d <= apart ? apart : d;
    largest = std::max(largest, std::fabs(wanted[i]));
  }
  return apart / largest;
}

int wrong = 0, by_cudnn = 0;
double worst = 0;
std::string library;

void expect(bool holds, const Case& c, const std::string& what) {
  if (holds) return;
  ++wrong;
  std::printf("%zu levels from %lld channels at %lldx%lld: %s\n", c.net.widths.size(),
              static_cast<long long>(c.net.widths[0]), static_cast<long long>(c.height),
              static_cast<long long>(c.width), what.c_str());
}

// By Oriel's kernels alone, or with `trial` by cuDNN where it is found and faster.
void check(const Case& c, bool trial) {
  const Weights weights = c.net.weights();
  std::vector<float> image(static_cast<std::size_t>(c.net.input_channels * c.height * c.width));
  std::mt19937 random(5);
  for (float& v : image) v = std::uniform_real_distribution<float>(0, 1)(random);
  const auto wanted = c.net.run(weights, image, c.height, c.width);
  UNet engine(weights, {.trial = trial, .device = Device::cuda});
  engine.prepare(c.height, c.width);
  std::vector<float> logits(wanted.back().values.size()), again(logits.size());
  std::size_t at = 0;
  engine.run(image.data(), logits.data(), [&](const std::string& block, const Extents&, std::span<const float> values) {
    const double d = difference(values, wanted.at(at++).values);
    worst = std::max(worst, d);
    expect(d <= kMost, c, block + " differs by " + std::to_string(d) + " of its greatest value");
  });
  expect(at == wanted.size(), c, "not every block was shown");
  expect(difference(logits, wanted.back().values) <= kMost, c, "the result differs");
  engine.another().run(image.data(), again.data());
  expect(again == logits, c, "another engine gives other bits");
  index_t copies = 0;
  for (const UNetCopies& row : engine.copies()) copies += row.copies;
  expect(copies == 2, c, "copies: " + std::to_string(copies));
  if (!trial) return;
  library = engine.library();
  for (const UNetStep& step : engine.steps()) by_cudnn += step.algorithm.starts_with("cudnn") ? 1 : 0;
}

}  // namespace
}  // namespace oriel::nn

int main() {
  using namespace oriel::nn;
  try {
    for (const Case& c : cases())
      for (bool trial : {false, true}) check(c, trial);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  std::printf(
      "networks: %zu, %d wrong, blocks within %.1e of their greatest values; with trials %d layers by cuDNN (%s)\n",
      cases().size(), wrong, worst, by_cudnn, library.c_str());
  return wrong == 0 ? 0 : 1;
}
