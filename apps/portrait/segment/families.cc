#include "apps/portrait/segment/families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "quoted.h"

namespace oriel::portrait {
namespace {

constexpr index_t kLeastSide = 16, kMostSide = 4096;

// What the table knows of a family. Sizes of 0 are free; `outputs` of 0 is any number.
struct Family {
  const char* name;
  index_t height, width;
  bool channels_last;
  std::size_t least_outputs, most_outputs;
  bool by_brightest, stretch;
  std::array<float, 3> mean, scale;
  double least_agreement;
};

constexpr std::array<float, 3> kNone = {0, 0, 0}, kOne = {1, 1, 1}, kHalf = {0.5F, 0.5F, 0.5F};
constexpr std::array<float, 3> kImageNetMean = {0.485F, 0.456F, 0.406F}, kImageNetScale = {0.229F, 0.224F, 0.225F};
constexpr std::size_t kMany = 100;

// From the code that each was published with: MediaPipe's graphs, U-2-Net's and DIS's data loaders, MODNet's and
// BiRefNet's inference. U-2-Net stands for U-2-Netp, silueta and U-2-Net of people too, whose signatures are the same.
constexpr Family kFamilies[] = {
    {"MediaPipe selfie", 256, 256, true, 1, 1, false, false, kNone, kOne, 0.75},
    {"MediaPipe selfie, landscape", 144, 256, true, 1, 1, false, false, kNone, kOne, 0.75},
    {"U-2-Net", 320, 320, false, 1, kMany, true, true, kImageNetMean, kImageNetScale, 0},
    {"BiRefNet", 1024, 1024, false, 1, 1, false, false, kImageNetMean, kImageNetScale, 0},
    {"IS-Net", 1024, 1024, false, 1, kMany, true, true, kHalf, kOne, 0},
    {"MODNet", 0, 0, false, 1, 1, false, false, kHalf, kHalf, 0},
};

std::string text_of(const std::vector<Port>& ports) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(ports.size(), 12); ++i) texts.push_back(text_of(ports[i]));
  return fmt::format("{}", fmt::join(texts, ", ")) + (ports.size() > texts.size() ? ", ..." : "");
}

bool is_picture(const Port& p, bool last) {
  return p.shape.size() == 4 && p.shape[0] <= 1 && p.shape[0] != 0 && p.shape[last ? 3 : 1] == 3;
}

// The mask's operation bounds it, so that it is no logits; ONNX's Clip becomes a Minimum of a Maximum.
bool bounded(const Port& p) {
  for (const char* known : {"Sigmoid", "Clamp", "HardSigmoid", "Minimum", "Maximum", "Softmax"})
    if (p.made_by == known) return true;
  return false;
}

// One plane: every axis but two has the extent 1, or is free.
bool is_mask(const Port& p) {
  if (p.any_rank) return true;
  if (p.shape.size() < 2 || p.shape.size() > 4) return false;
  if (p.shape.size() < 4) return std::all_of(p.shape.begin(), p.shape.end() - 2, [](index_t n) { return n <= 1; });
  return p.shape[0] <= 1 && (p.shape[1] == 1 || p.shape[3] == 1);
}

std::size_t named(const std::vector<Port>& ports, const std::string& name) {
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return i;
  return ports.size();
}

// Robust Video Matting: the picture `src`, four states r1i to r4i that are outputs r1o to r4o of the last frame, a
// ratio.
bool plan_video_matting(const std::vector<Port>& inputs, const std::vector<Port>& outputs, NetworkPlan& plan) {
  plan.picture = named(inputs, "src");
  const std::size_t mask = named(outputs, "pha");
  if (plan.picture == inputs.size() || mask == outputs.size()) return false;
  plan.outputs = {mask};
  for (const char* number : {"1", "2", "3", "4"}) {
    const std::size_t to = named(inputs, fmt::format("r{}i", number)),
                      from = named(outputs, fmt::format("r{}o", number));
    if (to == inputs.size() || from == outputs.size()) return false;
    plan.recurrent.push_back({to, plan.outputs.size()});
    plan.outputs.push_back(from);
  }
  const std::size_t ratio = named(inputs, "downsample_ratio");
  if (ratio < inputs.size()) plan.ratio = ratio;
  if (inputs.size() != 5 + (ratio < inputs.size() ? 1U : 0U) || !is_picture(inputs[plan.picture], false)) return false;
  plan.family = "Robust Video Matting";
  return true;
}

bool fits(const Family& f, const Port& input, const std::vector<Port>& outputs, bool attention) {
  if (!is_picture(input, f.channels_last) || outputs.size() < f.least_outputs || outputs.size() > f.most_outputs)
    return false;
  const index_t height = input.shape[f.channels_last ? 1 : 2], width = input.shape[f.channels_last ? 2 : 3];
  if (f.height == 0) return height < 0 && width < 0 && input.name == "input" && outputs[0].name == "output";
  if (height != f.height || width != f.width || !is_mask(outputs[0])) return false;
  const bool transformer = std::string_view(f.name) == "BiRefNet";
  return !transformer || attention || !bounded(outputs[0]);
}

const Family* family_of(const std::vector<Port>& inputs, const std::vector<Port>& outputs,
                        const std::vector<std::string>& operations) {
  const bool attention = std::any_of(operations.begin(), operations.end(),
                                     [](const std::string& type) { return type == "MatMul" || type == "Softmax"; });
  if (inputs.size() == 1)
    for (const Family& f : kFamilies)
      if (fits(f, inputs[0], outputs, attention)) return &f;
  return nullptr;
}

void take(const Family& f, NetworkPlan& plan) {
  plan.family = f.name;
  plan.channels_last = f.channels_last;
  plan.by_brightest = f.by_brightest;
  plan.stretch = f.stretch;
  plan.mean = f.mean;
  plan.scale = f.scale;
  plan.least_agreement = f.least_agreement;
}

void plan_size(const Port& input, const NetworkSettings& s, const std::string& file, NetworkPlan& plan) {
  const index_t height = input.shape[plan.channels_last ? 1 : 2], width = input.shape[plan.channels_last ? 2 : 3];
  if ((s.height > 0 && height >= 0 && s.height != height) || (s.width > 0 && width >= 0 && s.width != width))
    throw Error(fmt::format("--input-size: {}x{} is not the size of {}; allowed: {}x{}", s.width, s.height, file, width,
                            height));
  plan.height = s.height > 0 ? s.height : std::max<index_t>(height, 0);
  plan.width = s.width > 0 ? s.width : std::max<index_t>(width, 0);
  if (plan.height == 0 && plan.width == 0 && !plan.family.empty()) return;
  if (plan.height == 0 || plan.width == 0)
    throw Error(
        fmt::format("{}: its input {} has no fixed size; allowed: --input-size WIDTHxHEIGHT", file, text_of(input)));
  for (const index_t side : {plan.height, plan.width})
    if (side < kLeastSide || side > kMostSide)
      throw Error(fmt::format("{}: its input is {}x{} pixels; allowed: sides from {} to {}", file, plan.width,
                              plan.height, kLeastSide, kMostSide));
}

void plan_output(const std::vector<Port>& outputs, const NetworkSettings& s, const std::string& file,
                 NetworkPlan& plan) {
  if (plan.outputs.empty()) plan.outputs = {0};
  if (!s.output.empty()) {
    plan.outputs[0] = named(outputs, s.output);
    if (plan.outputs[0] == outputs.size())
      throw Error(fmt::format("--output: {} is not an output of {}; allowed: {}", detail::quoted(s.output), file,
                              text_of(outputs)));
  }
  const Port& mask = outputs[plan.outputs[0]];
  if (!is_mask(mask))
    throw Error(
        fmt::format("{}: its output {} is not one mask; allowed: one channel, or --output NAME for another of {}", file,
                    text_of(mask), text_of(outputs)));
  plan.sigmoid = !bounded(mask);
}

}  // namespace

std::string text_of(const Port& port) {
  if (port.any_rank) return detail::shortened(port.name, 60) + " [any shape]";
  std::vector<std::string> extents;
  for (const index_t n : port.shape) extents.push_back(n < 0 ? "?" : std::to_string(n));
  return fmt::format("{} [{}]", detail::shortened(port.name, 60), fmt::join(extents, "x"));
}

NetworkPlan plan_network(const std::vector<Port>& inputs, const std::vector<Port>& outputs,
                         const std::vector<std::string>& operations, const NetworkSettings& s,
                         const std::string& file) {
  NetworkPlan plan;
  if (outputs.empty()) throw Error(fmt::format("{}: it has no output; allowed: a network that gives a mask", file));
  if (!plan_video_matting(inputs, outputs, plan)) {
    plan = {};
    if (const Family* const family = family_of(inputs, outputs, operations)) take(*family, plan);
    if (inputs.size() != 1 || (!is_picture(inputs[0], false) && !is_picture(inputs[0], true)))
      throw Error(
          fmt::format("{}: its inputs are {}; allowed: one image of 3 channels, or those of Robust Video Matting", file,
                      inputs.empty() ? "none" : text_of(inputs)));
    if (plan.family.empty()) plan.channels_last = !is_picture(inputs[0], false);
  }
  if (s.mean) plan.mean = *s.mean;
  if (s.scale) plan.scale = *s.scale;
  if (s.mean || s.scale) plan.by_brightest = false;
  plan_size(inputs[plan.picture], s, file, plan);
  plan_output(outputs, s, file, plan);
  for (const Port& input : inputs) plan.shapes.push_back(input.shape);
  std::vector<index_t>& picture = plan.shapes[plan.picture];
  picture[0] = 1;
  if (plan.height > 0) {
    picture[plan.channels_last ? 1 : 2] = plan.height;
    picture[plan.channels_last ? 2 : 3] = plan.width;
  }
  for (const Recurrent& r : plan.recurrent) plan.shapes[r.to] = {1, -1, -1, -1};
  if (plan.ratio) plan.shapes[*plan.ratio] = {1};
  return plan;
}

std::array<float, 3> parse_triple(const std::string& option, const std::string& text) {
  const bool divides = option == "--scale";
  std::vector<float> values;
  for (const char* at = text.c_str();; ++at) {
    char* end = nullptr;
    values.push_back(std::strtof(at, &end));
    const bool bad = end == at || !std::isfinite(values.back()) || (divides && values.back() == 0);
    if (!bad && *end == ',' && values.size() < 3) {
      at = end;
      continue;
    }
    if (!bad && *end == '\0' && values.size() != 2) break;
    throw Error(fmt::format("{}: {} is not a number or three numbers with commas between them{}", option,
                            detail::quoted(text), divides ? ", none of them 0" : ""));
  }
  values.resize(3, values[0]);
  return {values[0], values[1], values[2]};
}

}  // namespace oriel::portrait
