#include "nn/naive_unet.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace oriel::nn {
namespace {

using Block = NaiveUNet::Block;

const float* data(const Weights& w, const std::string& key) { return static_cast<const float*>(w.find(key)->data); }

// 3x3 convolution, batch norm, ReLU.
Block layer(const Block& x, const Weights& w, const std::string& convolution, const std::string& norm) {
  const ConstTensor& k = *w.find(convolution + ".weight");
  const float* const taps = static_cast<const float*>(k.data);
  const bool bias = w.find(convolution + ".bias") != nullptr;
  Block y{"", k.shape[0], x.height, x.width, {}};
  for (index_t o = 0; o < y.channels; ++o)
    for (index_t r = 0; r < y.height; ++r)
      for (index_t c = 0; c < y.width; ++c) {
        double sum = bias ? data(w, convolution + ".bias")[o] : 0;
        for (index_t i = 0; i < x.channels; ++i)
          for (index_t a = 0; a < 3; ++a)
            for (index_t b = 0; b < 3; ++b) {
              const index_t yy = r + a - 1, xx = c + b - 1;
              if (yy < 0 || yy >= x.height || xx < 0 || xx >= x.width) continue;
              sum += x.values[static_cast<std::size_t>((i * x.height + yy) * x.width + xx)] *
                     taps[((o * x.channels + i) * 3 + a) * 3 + b];
            }
        const double mean = data(w, norm + ".running_mean")[o], variance = data(w, norm + ".running_var")[o];
        const double value =
            (sum - mean) / std::sqrt(variance + 1e-5) * data(w, norm + ".weight")[o] + data(w, norm + ".bias")[o];
        y.values.push_back(std::max(value, 0.0));
      }
  return y;
}

Block pooled(const Block& x) {
  Block y{"", x.channels, x.height / 2, x.width / 2, {}};
  for (index_t c = 0; c < x.channels; ++c)
    for (index_t r = 0; r < y.height; ++r)
      for (index_t s = 0; s < y.width; ++s) {
        const double* const at = x.values.data() + (c * x.height + 2 * r) * x.width + 2 * s;
        y.values.push_back(std::max({at[0], at[1], at[x.width], at[x.width + 1]}));
      }
  return y;
}

Block raised(const Block& x, const Weights& w, const std::string& key) {
  const ConstTensor& k = *w.find(key + ".weight");  // [inputs][outputs][2][2]
  Block y{"", k.shape[1], 2 * x.height, 2 * x.width, {}};
  for (index_t o = 0; o < y.channels; ++o)
    for (index_t r = 0; r < y.height; ++r)
      for (index_t c = 0; c < y.width; ++c) {
        double sum = data(w, key + ".bias")[o];
        for (index_t i = 0; i < x.channels; ++i)
          sum += x.values[static_cast<std::size_t>((i * x.height + r / 2) * x.width + c / 2)] *
                 static_cast<const float*>(k.data)[((i * y.channels + o) * 2 + r % 2) * 2 + c % 2];
        y.values.push_back(sum);
      }
  return y;
}

Block joined(const Block& a, const Block& b) {
  Block y = a;
  y.channels += b.channels;
  y.values.insert(y.values.end(), b.values.begin(), b.values.end());
  return y;
}

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  void add(const std::string& key, const Extents& shape, float least, float most) {
    std::uniform_real_distribution<float> values(least, most);
    auto& own = arrays_->emplace_back(static_cast<std::size_t>(element_count(shape)));
    for (float& v : own) v = values(random_);
    out_.add(key, ConstTensor(own.data(), shape));
  }

  void layer(const std::string& convolution, const std::string& norm, index_t inputs, index_t outputs, bool bias) {
    const float reach = 1.5F / std::sqrt(static_cast<float>(inputs));
    add(convolution + ".weight", {outputs, inputs, 3, 3}, -reach, reach);
    if (bias) add(convolution + ".bias", {outputs}, -1, 1);
    add(norm + ".weight", {outputs}, 0.5F, 1.5F);
    add(norm + ".bias", {outputs}, -0.5F, 0.5F);
    add(norm + ".running_mean", {outputs}, -0.5F, 0.5F);
    add(norm + ".running_var", {outputs}, 0.5F, 2);
  }

  Weights take() {
    out_.keep(arrays_);
    return std::move(out_);
  }

 private:
  std::mt19937 random_;
  std::shared_ptr<std::vector<std::vector<float>>> arrays_ = std::make_shared<std::vector<std::vector<float>>>();
  Weights out_;
};

}  // namespace

std::string NaiveUNet::level_key(int level, int at) const {
  const std::string end = "." + std::to_string(at);
  if (milesial)
    return (level == 0 ? "inc.double_conv" : "down" + std::to_string(level) + ".maxpool_conv.1.double_conv") + end;
  return (level == 0 ? "down_1.double_conv"
                     : "down_" + std::to_string(level + 1) + ".max_pooling_and_conv.1.double_conv") +
         end;
}

std::string NaiveUNet::up_key(int number) const { return (milesial ? "up" : "up_") + std::to_string(number) + ".up"; }

std::string NaiveUNet::joined_key(int number, int at) const {
  return (milesial ? "up" + std::to_string(number) + ".conv" : "up_" + std::to_string(number) + ".double_conv") +
         ".double_conv." + std::to_string(at);
}

Weights NaiveUNet::weights() const {
  Maker make(seed);
  const int levels = static_cast<int>(widths.size());
  for (int l = 0; l < levels; ++l) {
    const index_t own = widths[static_cast<std::size_t>(l)];
    make.layer(level_key(l, 0), level_key(l, 1), l == 0 ? input_channels : widths[static_cast<std::size_t>(l - 1)], own,
               bias);
    make.layer(level_key(l, 3), level_key(l, 4), own, own, bias);
  }
  for (int n = 1; n < levels; ++n) {
    const index_t own = widths[static_cast<std::size_t>(levels - 1 - n)];
    const index_t below = widths[static_cast<std::size_t>(levels - n)];
    const float reach = 1.5F / std::sqrt(static_cast<float>(below));
    make.add(up_key(n) + ".weight", {below, own, 2, 2}, -reach, reach);
    make.add(up_key(n) + ".bias", {own}, -1, 1);
    make.layer(joined_key(n, 0), joined_key(n, 1), 2 * own, own, bias);
    make.layer(joined_key(n, 3), joined_key(n, 4), own, own, bias);
  }
  make.add(head_key() + ".weight", {classes, widths.front(), 1, 1}, -1, 1);
  make.add(head_key() + ".bias", {classes}, -1, 1);
  return make.take();
}

std::vector<Block> NaiveUNet::run(const Weights& w, const std::vector<float>& image, index_t height,
                                  index_t width) const {
  std::vector<Block> out;
  Block x{"", input_channels, height, width, {image.begin(), image.end()}};
  const int levels = static_cast<int>(widths.size());
  for (int l = 0; l < levels; ++l) {
    if (l > 0) x = pooled(x);
    x = layer(layer(x, w, level_key(l, 0), level_key(l, 1)), w, level_key(l, 3), level_key(l, 4));
    x.name = "down_" + std::to_string(l + 1);
    out.push_back(x);
  }
  for (int n = 1; n < levels; ++n) {
    const Block up = raised(x, w, up_key(n));
    const Block& skip = out[static_cast<std::size_t>(levels - 1 - n)];
    x = milesial ? joined(skip, up) : joined(up, skip);
    x = layer(layer(x, w, joined_key(n, 0), joined_key(n, 1)), w, joined_key(n, 3), joined_key(n, 4));
    x.name = "up_" + std::to_string(n);
    out.push_back(x);
  }
  Block logits{"out", classes, height, width, {}};
  for (int k = 0; k < classes; ++k)
    for (index_t p = 0; p < height * width; ++p) {
      double sum = data(w, head_key() + ".bias")[k];
      for (index_t c = 0; c < x.channels; ++c)
        sum += x.values[static_cast<std::size_t>(c * height * width + p)] *
               data(w, head_key() + ".weight")[k * x.channels + c];
      logits.values.push_back(sum);
    }
  out.push_back(std::move(logits));
  return out;
}

}  // namespace oriel::nn
