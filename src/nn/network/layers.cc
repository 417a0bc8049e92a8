#include "nn/network/layers.h"
#include "text.h"

#include <cmath>

namespace oriel::nn {
namespace {

constexpr double kNormEpsilon = 1e-5;  // of BatchNorm2d, which files do not hold

// A tensor's values in C order.
std::vector<double> values(const Weights& weights, const std::string& key) {
  const ConstTensor& t = *weights.find(key);
  const auto count = static_cast<std::size_t>(element_count(t.shape));
  std::vector<double> out(count);
  visit(t.dtype, [&]<class T>() {
    const T* const data = static_cast<const T*>(t.data);
    Extents at = Extents::filled(t.rank(), 0);
    for (double& value : out) {
      index_t offset = 0;
      for (int axis = 0; axis < t.rank(); ++axis) offset += at[axis] * t.pitch[axis];
      if constexpr (is_floating_v<T> && sizeof(T) == 2)
        value = static_cast<float>(data[offset]);
      else
        value = static_cast<double>(data[offset]);
      for (int axis = t.rank() - 1; axis >= 0 && ++at[axis] == t.shape[axis]; --axis) at[axis] = 0;
    }
  });
  for (double value : out)
    if (!std::isfinite(value))
      throw Error(fmt::format("{}: '{}' holds {}; weights must be finite", weights.file(), key, value));
  return out;
}

std::vector<double> values_or_zero(const Weights& weights, const std::string& key, std::size_t count) {
  return weights.find(key) == nullptr ? std::vector<double>(count) : values(weights, key);
}

float to_float(double value, const Weights& weights, const std::string& key) {
  const auto out = static_cast<float>(value);
  if (!std::isfinite(out))
    throw Error(
        fmt::format("{}: '{}' and its batch norm give {}, which no 32-bit float holds", weights.file(), key, value));
  return out;
}

std::string numbered(const std::string& pattern, int number) { return fmt::format(fmt::runtime(pattern), number); }

LayerKeys pair_of(const std::string& prefix, int which) {
  return {fmt::format("{}.{}", prefix, 3 * which), fmt::format("{}.{}", prefix, 3 * which + 1)};
}

}  // namespace

const std::vector<KeyNames>& KeyNames::known() {
  static const std::vector<KeyNames> all = {
      {"source", false, "down_1.double_conv", "down_{}.max_pooling_and_conv.1.double_conv", 2, "up_{}.up",
       "up_{}.double_conv.double_conv", "out"},
      {"milesial", true, "inc.double_conv", "down{}.maxpool_conv.1.double_conv", 1, "up{}.up", "up{}.conv.double_conv",
       "outc.conv"},
  };
  return all;
}

LayerKeys KeyNames::level(int level, int which) const {
  return pair_of(level == 0 ? first : numbered(down, level - 1 + down_number), which);
}

LayerKeys KeyNames::up_layer(int number, int which) const { return pair_of(numbered(joined, number), which); }

std::string KeyNames::up_convolution(int number) const { return numbered(up, number); }

Folded fold(const Weights& weights, const LayerKeys& keys, index_t outputs, index_t inputs,
            const std::vector<ChannelRun>& runs) {
  const std::vector<double> w = values(weights, keys.convolution + ".weight");
  const Extents& shape = weights.find(keys.convolution + ".weight")->shape;  // [outputs][inputs][kh][kw]
  const auto own = static_cast<std::size_t>(shape[0]);
  const index_t taps = shape[2] * shape[3];
  const std::vector<double> b = values_or_zero(weights, keys.convolution + ".bias", own);
  const std::vector<double> gamma = values(weights, keys.norm + ".weight");
  const std::vector<double> beta = values(weights, keys.norm + ".bias");
  const std::vector<double> mean = values(weights, keys.norm + ".running_mean");
  const std::vector<double> variance = values(weights, keys.norm + ".running_var");
  Folded out{std::vector<float>(static_cast<std::size_t>(outputs * inputs * taps)),
             std::vector<float>(static_cast<std::size_t>(outputs))};
  for (std::size_t o = 0; o < own; ++o) {
    if (variance[o] < 0)
      throw Error(
          fmt::format("{}: '{}.running_var' holds {}; a variance is >= 0", weights.file(), keys.norm, variance[o]));
    const double scale = gamma[o] / std::sqrt(variance[o] + kNormEpsilon);
    out.bias[o] = to_float((b[o] - mean[o]) * scale + beta[o], weights, keys.convolution + ".bias");
    for (const ChannelRun& run : runs)
      for (index_t i = 0; i < run.count * taps; ++i)
        out.weights[o * static_cast<std::size_t>(inputs * taps) + static_cast<std::size_t>(run.to * taps + i)] =
            to_float(w[(o * static_cast<std::size_t>(shape[1]) + static_cast<std::size_t>(run.from)) *
                           static_cast<std::size_t>(taps) +
                       static_cast<std::size_t>(i)] *
                         scale,
                     weights, keys.convolution + ".weight");
  }
  return out;
}

Folded transposed_row(const Weights& weights, const std::string& key, int dy, index_t outputs, index_t inputs) {
  const std::vector<double> w = values(weights, key + ".weight");
  const Extents& shape = weights.find(key + ".weight")->shape;  // [inputs][outputs][2][2]
  const std::vector<double> b = values_or_zero(weights, key + ".bias", static_cast<std::size_t>(shape[1]));
  Folded out{std::vector<float>(static_cast<std::size_t>(2 * outputs * inputs)),
             std::vector<float>(static_cast<std::size_t>(outputs))};
  for (index_t o = 0; o < shape[1]; ++o) {
    out.bias[static_cast<std::size_t>(o)] = to_float(b[static_cast<std::size_t>(o)], weights, key + ".bias");
    for (index_t dx = 0; dx < 2; ++dx)
      for (index_t i = 0; i < shape[0]; ++i)
        out.weights[static_cast<std::size_t>((dx * outputs + o) * inputs + i)] =
            to_float(w[static_cast<std::size_t>(((i * shape[1] + o) * 2 + dy) * 2 + dx)], weights, key + ".weight");
  }
  return out;
}

Folded head_weights(const Weights& weights, const std::string& key, index_t inputs) {
  const std::vector<double> w = values(weights, key + ".weight");
  const Extents& shape = weights.find(key + ".weight")->shape;  // [classes][inputs][1][1]
  const std::vector<double> b = values_or_zero(weights, key + ".bias", static_cast<std::size_t>(shape[0]));
  Folded out{std::vector<float>(static_cast<std::size_t>(shape[0] * inputs)),
             std::vector<float>(static_cast<std::size_t>(shape[0]))};
  for (index_t o = 0; o < shape[0]; ++o) {
    out.bias[static_cast<std::size_t>(o)] = to_float(b[static_cast<std::size_t>(o)], weights, key + ".bias");
    for (index_t i = 0; i < shape[1]; ++i)
      out.weights[static_cast<std::size_t>(o * inputs + i)] =
          to_float(w[static_cast<std::size_t>(o * shape[1] + i)], weights, key + ".weight");
  }
  return out;
}

}  // namespace oriel::nn
