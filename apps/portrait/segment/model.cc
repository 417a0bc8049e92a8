#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "apps/portrait/segment/letterbox.h"
#include "apps/portrait/segment/segmenters.h"
#include "oriel/nn/unet.h"

namespace oriel::portrait {
namespace {

constexpr index_t kSide = 256;  // of the square that weights without a word about it are run with

// Engines that are free; a call that finds none makes one.
class Engines {
 public:
  explicit Engines(nn::UNet first) : first_(std::move(first)) {}

  nn::UNet take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return first_.another();
    nn::UNet engine = std::move(free_.back());
    free_.pop_back();
    return engine;
  }
  void give(nn::UNet engine) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(engine));
  }
  const nn::UNet& first() const { return first_; }

 private:
  std::mutex mutex_;
  nn::UNet first_;  // never run: others are copies of it
  std::vector<nn::UNet> free_;
};

index_t side_of(const nn::UNet& net, const std::string& file) {
  const auto said = net.metadata().find("input_size");
  if (said == net.metadata().end()) return kSide;
  const index_t side = std::atoll(said->second.c_str());  // `256x256`
  if (side < 16 || side > 4096 || side % 16 != 0)
    throw Error(
        fmt::format("{}: its input_size is '{}'; allowed: a multiple of 16 from 16 to 4096", file, said->second));
  return side;
}

}  // namespace

NamedSegmenter open_model(const MaskSource& source) {
  const std::string file = source.model.empty() ? demo_model() : source.model;
  nn::UNet net = nn::UNet::load(file, {.threads = source.threads,
                                       .arithmetic = source.fast ? nn::Arithmetic::bf16 : nn::Arithmetic::fp32,
                                       .trial = !source.reproducible,
                                       .device = source.device});
  if (net.description().input_channels != 3 || net.description().classes != 1)
    throw Error(fmt::format("{}: the network takes {} channels and gives {}; allowed: 3 and 1", file,
                            net.description().input_channels, net.description().classes));
  const index_t side = side_of(net, file);
  net.prepare(side, side);
  auto engines = std::make_shared<Engines>(std::move(net));
  const auto run = [engines, side](const Image& image) {
    const Letterbox box = fit_letterbox(image.height, image.width, side, side);
    const Planes canvas = into_letterbox(image, box, 1);
    Planes logits(1, side, side);
    nn::UNet engine = engines->take();
    engine.run(canvas.values.data(), logits.values.data());
    engines->give(std::move(engine));
    Planes mask = out_of_letterbox(logits, box);
    for (float& value : mask.values) value = 1 / (1 + std::exp(-value));
    return mask;
  };
  const std::string stem = std::filesystem::path(file).filename().string();
  return {run, source.model.empty() ? stem + " (demo)" : stem};
}

}  // namespace oriel::portrait
