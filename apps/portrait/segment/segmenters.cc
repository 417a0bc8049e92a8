#include "apps/portrait/segment/segmenters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "apps/portrait/image/image_file.h"
#include "apps/portrait/image/resize.h"
#include "apps/portrait/runtime/load.h"
#include "apps/portrait/segment/installed.h"

namespace oriel::portrait {
namespace {

constexpr index_t kMostMaskPixels = 200'000'000;

// A mask from a file: transparency if it has any, else brightness.
Planes mask_of(const ImageFile& file) {
  if (file.opacity.area() > 0) return file.opacity;
  Planes mask(1, file.image.height, file.image.width);
  for (std::size_t i = 0; i < mask.values.size(); ++i) {
    const std::uint8_t* const p = file.image.bytes.data() + 3 * i;
    mask.values[i] = static_cast<float>(p[0] + p[1] + p[2]) / (3 * 255);
  }
  return mask;
}

struct Chroma {
  float blue, red;
};
Chroma chroma_of(float r, float g, float b) {  // Rec. 601
  return {-0.168736F * r - 0.331264F * g + 0.5F * b, 0.5F * r - 0.418688F * g - 0.081312F * b};
}

void refuse_settings(const MaskSource& source) {
  const NetworkSettings& s = source.network;
  const char* const option = s.height > 0 ? "--input-size" : s.mean ? "--mean" : s.scale ? "--scale" : "--output";
  if (s.height > 0 || s.mean || s.scale || !s.output.empty())
    throw Error(fmt::format("{}: not for {}; allowed: .onnx and .tflite models", option,
                            source.model.empty() ? "the demo model" : source.model));
}

}  // namespace

Planes key_mask(const Image& image, Colour key) {
  constexpr index_t longest = 512;
  constexpr float near = 0.10F, far = 0.22F;  // distances of chroma, of which the largest is about 1
  const double step = std::max(1.0, static_cast<double>(std::max(image.height, image.width)) / longest);
  const auto side = [&](index_t n) {
    return std::clamp<index_t>(static_cast<index_t>(std::lround(static_cast<double>(n) / step)), 1, n);
  };
  const Planes colours = colours_of(resized(image, side(image.height), side(image.width), 1), 1);
  const Chroma screen =
      chroma_of(static_cast<float>(key.r) / 255, static_cast<float>(key.g) / 255, static_cast<float>(key.b) / 255);
  Planes mask(1, colours.height, colours.width);
  const std::size_t area = mask.values.size();
  for (std::size_t i = 0; i < area; ++i) {
    const Chroma c = chroma_of(colours.values[i], colours.values[area + i], colours.values[2 * area + i]);
    const float away = std::hypot(c.blue - screen.blue, c.red - screen.red);
    mask.values[i] = std::clamp((away - near) / (far - near), 0.0F, 1.0F);
  }
  return mask;
}

NamedSegmenter make_segmenter(const MaskSource& source) {
  if (!source.mask.empty()) {
    const ImageFile file = read_image_file(source.mask, kMostMaskPixels);
    auto mask = std::make_shared<const Planes>(mask_of(file));
    std::vector<std::string> notes;
    if (file.first_of_several) notes.push_back("--mask: " + file.notes.back());
    return {[mask](const Image&) { return *mask; }, "mask " + source.mask, notes};
  }
  if (source.key) {
    const Colour key = *source.key;
    return {[key](const Image& image) { return key_mask(image, key); },
            fmt::format("key #{:02x}{:02x}{:02x}", key.r, key.g, key.b)};
  }
  MaskSource found = source;
  found.model = model_path(source.device == Device::cuda && source.model.empty() ? "drawn" : source.model);
  if (is_network_file(found.model)) return open_network_model(found);
  const bool by_default = source.model.empty();
  if (by_default) found.model.clear();
  refuse_settings(found);
  NamedSegmenter result = open_model(found);
  result.least_agreement = source.video ? 0 : source.least_agreement.value_or(0);
  if (by_default)
    result.notes.push_back(std::string("the demo model is weak on photographs; ") +
                           (has_runtime() ? "'oriel-portrait models get selfie' installs a better one"
                                          : "'make portrait-models' in Oriel's source folder installs a better one"));
  return result;
}

std::string demo_model() {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path installed =
      program.parent_path().parent_path() / ORIEL_PORTRAIT_DATA / "portrait_demo.safetensors";
  for (const std::filesystem::path& place :
       {installed, std::filesystem::path(ORIEL_PORTRAIT_SOURCE) / "portrait_demo.safetensors"})
    if (std::filesystem::is_regular_file(place, none)) return place.string();
  throw Error("--model: the demo model was not found; allowed: a weights file, or --mask or --key instead");
}

}  // namespace oriel::portrait
