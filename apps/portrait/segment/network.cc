// Networks of ONNX and TensorFlow Lite files as segmenters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>

#include "apps/portrait/image/resize.h"
#include "apps/portrait/runtime/load.h"
#include "apps/portrait/segment/installed.h"
#include "apps/portrait/segment/segmenters.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

constexpr index_t kArea = 512 * 512, kMultiple = 32;  // of pictures for networks whose input has no fixed size

// A network, its plan, and runs that are free.
class PlannedNetwork {
 public:
  PlannedNetwork(std::unique_ptr<Network> network, NetworkPlan plan, std::string file)
      : network_(std::move(network)), plan_(std::move(plan)), file_(std::move(file)) {}

  Planes mask_of(const Image& image, bool video) {
    std::unique_ptr<NetworkRun> run = take();
    try {
      std::vector<Values> states = video ? states_ : std::vector<Values>();
      std::vector<Values> results = run->run(inputs_of(image, states));
      give(std::move(run));
      if (video) states_.assign(results.begin() + 1, results.end());
      return mask_of(results.at(0));
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& e) {
      throw Error(fmt::format("{}: OpenVINO cannot run it: {}", file_, detail::shortened(e.what(), 400)));
    }
  }
  const NetworkPlan& plan() const { return plan_; }
  const Network& network() const { return *network_; }

 private:
  std::unique_ptr<NetworkRun> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return network_->make_run();
    std::unique_ptr<NetworkRun> run = std::move(free_.back());
    free_.pop_back();
    return run;
  }
  void give(std::unique_ptr<NetworkRun> run) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(run));
  }

  // The inputs; states that there are none of yet are one zero, which the network spreads.
  std::vector<Values> inputs_of(const Image& image, std::vector<Values>& states) const {
    std::vector<Values> inputs(plan_.shapes.size());
    inputs[plan_.picture] = picture_of(image);
    for (const Recurrent& r : plan_.recurrent)
      inputs[r.to] = states.empty() ? Values{{1, 1, 1, 1}, {0}} : std::move(states[r.from - 1]);
    if (plan_.ratio) inputs[*plan_.ratio] = {{1}, {1}};
    return inputs;
  }

  Values picture_of(const Image& image) const {
    const auto side = [&](index_t length, index_t other) {
      const double exact =
          std::sqrt(static_cast<double>(kArea) * static_cast<double>(length) / static_cast<double>(other));
      return std::clamp<index_t>(std::lround(exact / kMultiple), 1, 64) * kMultiple;
    };
    const index_t height = plan_.height > 0 ? plan_.height : side(image.height, image.width);
    const index_t width = plan_.width > 0 ? plan_.width : side(image.width, image.height);
    const Image small = resized(image, height, width, 1);
    const index_t area = height * width;
    Values x{
        plan_.channels_last ? std::vector<index_t>{1, height, width, 3} : std::vector<index_t>{1, 3, height, width},
        std::vector<float>(static_cast<std::size_t>(3 * area))};
    const std::uint8_t most =
        plan_.by_brightest ? std::max<std::uint8_t>(*std::max_element(small.bytes.begin(), small.bytes.end()), 1) : 255;
    for (index_t c = 0; c < 3; ++c) {
      const auto at = static_cast<std::size_t>(c);
      const float scale = 1 / (static_cast<float>(most) * plan_.scale[at]), shift = plan_.mean[at] / plan_.scale[at];
      for (index_t i = 0; i < area; ++i)
        x.values[static_cast<std::size_t>(plan_.channels_last ? 3 * i + c : c * area + i)] =
            static_cast<float>(small.bytes[static_cast<std::size_t>(3 * i + c)]) * scale - shift;
    }
    return x;
  }

  Planes mask_of(const Values& y) const {
    std::vector<index_t> sides = y.shape;
    if (sides.size() == 4 && sides[3] == 1) sides.pop_back();  // channels last
    const std::size_t rank = sides.size();
    const index_t height = rank >= 2 ? sides[rank - 2] : 0, width = rank >= 2 ? sides[rank - 1] : 0;
    if (height < 1 || width < 1 || height * width != static_cast<index_t>(y.values.size()))
      throw Error(fmt::format("{}: its output has the shape [{}]; allowed: one plane", file_, fmt::join(y.shape, "x")));
    Planes mask(1, height, width);
    mask.values.assign(y.values.begin(), y.values.end());
    if (plan_.sigmoid)
      for (float& value : mask.values) value = 1 / (1 + std::exp(-value));
    for (float& value : mask.values) value = value > 0 ? std::min(value, 1.0F) : 0;  // NaN too
    if (plan_.stretch) stretch(mask);
    return mask;
  }

  // As U-2-Net's authors do; a mask that is faint everywhere stays so, or noise would become a person.
  static void stretch(Planes& mask) {
    constexpr float faint = 0.2F;
    const auto [least, most] = std::minmax_element(mask.values.begin(), mask.values.end());
    const float low = *least, high = *most;
    if (high < faint || high <= low) return;
    for (float& value : mask.values) value = (value - low) / (high - low);
  }

  std::unique_ptr<Network> network_;
  NetworkPlan plan_;
  std::string file_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<NetworkRun>> free_;
  std::vector<Values> states_;  // of a video, whose frames come one at a time
};

std::vector<std::string> options_of(const NetworkSettings& s) {
  std::vector<std::string> options;
  if (s.height > 0) options.insert(options.end(), {"--input-size", fmt::format("{}x{}", s.width, s.height)});
  if (s.mean) options.insert(options.end(), {"--mean", fmt::format("{}", fmt::join(*s.mean, ","))});
  if (s.scale) options.insert(options.end(), {"--scale", fmt::format("{}", fmt::join(*s.scale, ","))});
  if (!s.output.empty()) options.insert(options.end(), {"--output", s.output});
  return options;
}

std::shared_ptr<PlannedNetwork> open_planned(const MaskSource& source) {
  const std::string& file = source.model;
  if (source.device != Device::cpu) throw Error(fmt::format("--device: {} runs on the CPU only; allowed: cpu", file));
  if (!source.trusted && !is_checked(file)) {
    if (!has_runtime()) open_network(file);  // which says what is missing
    try_network(file, options_of(source.network));
  }
  std::unique_ptr<Network> network = open_network(file);
  NetworkPlan plan = plan_network(network->inputs(), network->outputs(), network->operations(), source.network, file);
  NetworkOptions options{.threads = source.threads, .half = source.fast};
  if (source.threads == 1 && !(source.video && !plan.recurrent.empty())) options.at_once = default_threads();
  try {
    network->compile(plan.shapes, plan.outputs, options);
  } catch (const std::runtime_error& e) {
    throw Error(fmt::format("{}: OpenVINO cannot prepare it: {}", file, detail::shortened(e.what(), 400)));
  }
  return std::make_shared<PlannedNetwork>(std::move(network), std::move(plan), file);
}

}  // namespace

NamedSegmenter open_network_model(const MaskSource& source) {
  const std::shared_ptr<PlannedNetwork> network = open_planned(source);
  const NetworkPlan& plan = network->plan();
  const bool states = source.video && !plan.recurrent.empty();
  const std::string stem = std::filesystem::path(source.model).filename().string();
  NamedSegmenter result{[network, states](const Image& image) { return network->mask_of(image, states); },
                        plan.family.empty() ? stem : fmt::format("{} ({})", stem, plan.family)};
  result.in_order = states;
  result.least_agreement = source.video ? 0 : source.least_agreement.value_or(plan.least_agreement);
  return result;
}

std::string describe_network(const MaskSource& source) {
  const std::shared_ptr<PlannedNetwork> network = open_planned(source);
  const Planes mask = network->mask_of(Image(64, 64, 3), false);
  const NetworkPlan& plan = network->plan();
  std::string text = fmt::format("{}: {}\n", detail::printable(source.model),
                                 plan.family.empty() ? "not a known family" : plan.family);
  for (const Port& p : network->network().inputs()) text += fmt::format("  input   {}\n", text_of(p));
  for (const Port& p : network->network().outputs()) text += fmt::format("  output  {}\n", text_of(p));
  text +=
      fmt::format("  colours (value {}- mean) / scale with mean {} and scale {}\n",
                  plan.by_brightest ? "/ greatest value " : "", fmt::join(plan.mean, ","), fmt::join(plan.scale, ","));
  return text + fmt::format("  mask    {}x{} from {}{}{}\n", mask.width, mask.height,
                            detail::printable(network->network().outputs()[plan.outputs[0]].name),
                            plan.sigmoid ? ", sigmoid" : "", plan.stretch ? ", stretched to 0..1" : "");
}

}  // namespace oriel::portrait
