#include <gtest/gtest.h>

#include "nn/naive_unet.h"
#include "nn/weights_text.h"

namespace oriel::nn {
namespace {

Weights without(const Weights& weights, const std::function<bool(const std::string&)>& drop) {
  Weights out;
  for (const auto& [key, tensor] : weights.tensors())
    if (!drop(key)) out.add(key, tensor);
  out.call("net.pth", "pth");
  return out;
}

Weights without(const Weights& weights, const std::string& key) {
  return without(weights, [&](const std::string& k) { return k == key; });
}

void expect_refused(const Weights& weights, std::string_view part) {
  const std::string text = error_of([&] { describe(weights); });
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Describe, FindsDepthAndWidths) {
  for (bool milesial : {false, true})
    for (const std::vector<index_t>& widths :
         {std::vector<index_t>{4, 8}, std::vector<index_t>{3, 5, 7}, std::vector<index_t>{2, 2, 2, 2, 2, 2, 2}}) {
      const NaiveUNet net{.input_channels = 2, .classes = 3, .widths = widths, .milesial = milesial, .bias = !milesial};
      const UNetDescription d = describe(net.weights());
      EXPECT_EQ(d.widths, widths);
      EXPECT_EQ(d.input_channels, 2);
      EXPECT_EQ(d.classes, 3);
      EXPECT_EQ(d.skip_first, milesial);
      EXPECT_EQ(d.key_names, milesial ? "milesial" : "source");
      EXPECT_EQ(d.multiple(), index_t{1} << (widths.size() - 1));
    }
}

// The counts of the source's network: 31,043,521 parameters, 192.7 billion multiplications at 512x512.
TEST(Describe, CountsTheSourcesNetwork) {
  UNetDescription d;
  d.widths = {64, 128, 256, 512, 1024};
  d.key_names = "source";
  EXPECT_EQ(d.parameters(), 31'043'521);
  EXPECT_EQ(d.multiplications(512, 512) / 100'000'000, 1926);
  d.convolution_bias = false;
  EXPECT_EQ(d.parameters(), 31'037'633);
}

TEST(Describe, SaysWhichKeysAreMissing) {
  const NaiveUNet net{.widths = {4, 8, 16}};
  const Weights whole = net.weights();
  for (const auto& [key, tensor] : whole.tensors()) {
    if (key.ends_with(".bias") && !key.ends_with("1.bias") && !key.ends_with("4.bias")) continue;  // not of a norm
    expect_refused(without(whole, key), "missing: " + key);
  }
  expect_refused(without(whole, [](const std::string& k) { return k.starts_with("up_1.double_conv"); }),
                 "net.pth: not the weights of a 3-level U-Net with the key names 'source': missing: "
                 "up_1.double_conv.double_conv.0.weight, ");
  expect_refused(without(whole, [](const std::string& k) { return k.starts_with("up_1.double_conv"); }), "and 4 more");
}

TEST(Describe, SaysWhichShapesAreWrong) {
  const NaiveUNet net{.widths = {4, 8}};
  const float values[4096] = {};
  const auto with = [&](const std::string& key, const Extents& shape, Dtype dtype = Dtype::f32) {
    Weights w = net.weights();
    w.add(key, ConstTensor(values, dtype, shape));
    return w;
  };
  expect_refused(with("up_1.up.weight", {8, 4, 3, 3}), "wrong: up_1.up.weight is 8x4x3x3 instead of 8x4x2x2");
  expect_refused(with("down_1.double_conv.3.weight", {4, 4, 3}), "is 4x4x3 instead of 4x4x3x3");
  expect_refused(with("out.weight", {1, 4}), "out.weight is 1x4 instead of 1x4x1x1");
  expect_refused(with("out.bias", {1}, Dtype::i64), "out.bias has elements of i64 instead of a floating type");
  expect_refused(with("out.extra", {1}), "not part of it: out.extra");
  expect_refused(with("out.weight", {0, 4, 1, 1}), "out.weight is 0x4x1x1");
  Weights counted = with("down_1.double_conv.1.num_batches_tracked", {}, Dtype::i64);
  EXPECT_EQ(describe(counted).levels(), 2);
}

TEST(Describe, RefusesOtherNetworks) {
  const float values[16] = {};
  Weights other;
  expect_refused(other, "the file has no tensor");
  other.add("conv1.weight", ConstTensor(values, {4, 4}));
  expect_refused(other,
                 "no key 'down_1.double_conv.0.weight' (source) or 'inc.double_conv.0.weight' (milesial); the "
                 "file has conv1.weight");
  const NaiveUNet net{.widths = {4, 8, 16}, .milesial = true};
  expect_refused(without(net.weights(), [](const std::string& k) { return k.find(".up.") != std::string::npos; }),
                 "a U-Net that up-samples bilinearly (there is no 'up1.up.weight')");
  expect_refused(without(NaiveUNet{.widths = {4, 8}}.weights(),
                         [](const std::string& k) { return !k.starts_with("down_1.") && !k.starts_with("out."); }),
                 "at least 2 are needed");
}

}  // namespace
}  // namespace oriel::nn
