#include <cmath>
#include <memory>
#include <random>

#include "apps/portrait/compare/compare.h"

namespace oriel::portrait {
namespace {

using Arrays = std::vector<std::vector<float>>;

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  void layer(const std::string& prefix, int at, index_t inputs, index_t outputs) {
    const std::string conv = prefix + "." + std::to_string(at), norm = prefix + "." + std::to_string(at + 1);
    normal(conv + ".weight", {outputs, inputs, 3, 3}, std::sqrt(2.0 / (9.0 * static_cast<double>(inputs))));
    normal(conv + ".bias", {outputs}, 0.1);
    uniform(norm + ".weight", {outputs}, 0.5, 1.5);
    normal(norm + ".bias", {outputs}, 0.2);
    normal(norm + ".running_mean", {outputs}, 0.3);
    uniform(norm + ".running_var", {outputs}, 0.5, 2);
  }

  void double_layer(const std::string& prefix, index_t inputs, index_t outputs) {
    layer(prefix, 0, inputs, outputs);
    layer(prefix, 3, outputs, outputs);
  }

  void normal(const std::string& name, const Extents& shape, double deviation) {
    std::normal_distribution<double> values(0, deviation);
    fill(name, shape, values);
  }

  nn::Weights take() {
    out_.keep(std::make_shared<Arrays>(std::move(arrays_)));
    out_.call("random weights", "memory");
    return std::move(out_);
  }

 private:
  void uniform(const std::string& name, const Extents& shape, double least, double most) {
    std::uniform_real_distribution<double> values(least, most);
    fill(name, shape, values);
  }

  template <class Distribution>
  void fill(const std::string& name, const Extents& shape, Distribution& values) {
    std::vector<float> data(static_cast<std::size_t>(element_count(shape)));
    for (float& v : data) v = static_cast<float>(values(random_));
    arrays_.push_back(std::move(data));
    out_.add(name, ConstTensor(arrays_.back().data(), shape));
  }

  std::mt19937_64 random_;
  Arrays arrays_;
  nn::Weights out_;
};

}  // namespace

nn::Weights random_weights(const std::vector<index_t>& widths, std::uint64_t seed) {
  Maker make(seed);
  const int levels = static_cast<int>(widths.size());
  for (int level = 0; level < levels; ++level) {
    const auto at = static_cast<std::size_t>(level);
    const std::string down = "down_" + std::to_string(level + 1);
    make.double_layer(down + (level == 0 ? ".double_conv" : ".max_pooling_and_conv.1.double_conv"),
                      level == 0 ? 3 : widths[at - 1], widths[at]);
  }
  for (int number = 1; number < levels; ++number) {
    const index_t own = widths[static_cast<std::size_t>(levels - 1 - number)];
    const index_t below = widths[static_cast<std::size_t>(levels - number)];
    const std::string up = "up_" + std::to_string(number);
    make.normal(up + ".up.weight", {below, own, 2, 2}, std::sqrt(1.0 / static_cast<double>(below)));
    make.normal(up + ".up.bias", {own}, 0.1);
    make.double_layer(up + ".double_conv.double_conv", 2 * own, own);
  }
  make.normal("out.weight", {1, widths.front(), 1, 1}, std::sqrt(1.0 / static_cast<double>(widths.front())));
  make.normal("out.bias", {1}, 0.1);
  return make.take();
}

}  // namespace oriel::portrait
