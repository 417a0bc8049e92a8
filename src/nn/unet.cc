#include "oriel/nn/unet.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "nn/arena.h"
#include "nn/blocks.h"
#include "nn/prepared.h"

namespace oriel::nn {
namespace {

int usable_threads() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace

std::string_view name(Arithmetic arithmetic) { return arithmetic == Arithmetic::bf16 ? "bf16" : "fp32"; }

Arithmetic parse_arithmetic(std::string_view text) {
  for (Arithmetic a : {Arithmetic::fp32, Arithmetic::bf16})
    if (text == name(a)) return a;
  throw Error(fmt::format("arithmetic '{}'; allowed: fp32, bf16", text));
}

bool supports(Arithmetic arithmetic) { return convolution_supported(arithmetic); }

struct UNet::State {
  std::shared_ptr<const Weights> weights;
  UNetDescription description;
  UNetOptions options;
  index_t height = 0;
  index_t width = 0;
  std::shared_ptr<const Prepared> prepared;
  Arena arena;
  std::vector<UNetCopies> copies;

  void* at(int tensor) const {
    return tensor < 0 ? nullptr : arena.at(prepared->plan.offsets[static_cast<std::size_t>(tensor)]);
  }

  Blocks blocks(int i) const {
    const NetworkTensor& t = prepared->network.tensors[static_cast<std::size_t>(i)];
    return {at(i), t.dtype, channel_block(options.arithmetic), t.channels, t.height, t.width};
  }

  void count_copy(const NetworkStep& step) {
    for (UNetCopies& row : copies)
      if (row.block == step.block) ++row.copies;
  }

  void start_counts() {
    copies.clear();
    for (const NetworkStep& step : prepared->network.steps)
      if (copies.empty() || copies.back().block != step.block) copies.push_back({step.block, 0});
  }

  void take_memory() {
    arena = Arena(prepared->plan.bytes);
    start_counts();
  }

  void run_step(const NetworkStep& step, const Work& work, const float* image, float* logits);
  void copy_in(const NetworkStep& step, const float* image);
  void up(const NetworkStep& step, const Work& work);
  void show(const NetworkStep& step, const Observer& observer) const;
};

void UNet::State::copy_in(const NetworkStep& step, const float* image) {
  const Blocks out = blocks(step.output);
  if (prepared->network.tensors[static_cast<std::size_t>(step.output)].plain)
    copy_image(image, out.channels * out.height * out.width, out.dtype, out.data);
  else
    image_to_blocks(image, step.channels, out);
  count_copy(step);
}

void UNet::State::up(const NetworkStep& step, const Work& work) {
  Blocks row = blocks(step.input);
  const Blocks out = blocks(step.output);
  row.data = at(work.row);
  row.channels = 2 * out.channels;
  for (int dy : {0, 1}) {
    work.convolutions[static_cast<std::size_t>(dy)].run(at(step.input), row.data, at(work.scratch));
    spread(row, dy, work.bias, out);
  }
}

void UNet::State::run_step(const NetworkStep& step, const Work& work, const float* image, float* logits) {
  switch (step.kind) {
    case StepKind::copy_in:
      return copy_in(step, image);
    case StepKind::convolution:
      return work.convolutions.front().run(at(step.input), at(step.output), at(work.scratch));
    case StepKind::pool:
      return pool(blocks(step.input), blocks(step.output));
    case StepKind::up:
      return up(step, work);
    case StepKind::head:
      return head(blocks(step.input), work.weights, work.bias, static_cast<float*>(at(step.output)));
    case StepKind::copy_out: {
      const auto* const values = static_cast<const float*>(at(step.input));
      std::copy_n(values, description.classes * height * width, logits);
      return count_copy(step);
    }
  }
}

void UNet::State::show(const NetworkStep& step, const Observer& observer) const {
  const Blocks value = blocks(step.output);
  std::vector<float> plain(static_cast<std::size_t>(step.channels * value.height * value.width));
  if (step.kind == StepKind::head)
    std::copy_n(static_cast<const float*>(value.data), plain.size(), plain.data());
  else
    blocks_to_plain(value, step.channels, plain.data());
  observer(step.block, {step.channels, value.height, value.width}, plain);
}

UNet::UNet(std::unique_ptr<State> state) : state_(std::move(state)) {}
UNet::UNet(UNet&&) noexcept = default;
UNet& UNet::operator=(UNet&&) noexcept = default;
UNet::~UNet() = default;

UNet::UNet(const Weights& weights, const UNetOptions& options) : state_(std::make_unique<State>()) {
  if (options.threads < 0)
    throw Error(fmt::format("unet: threads must be >= 0, but it is {}; 0 means all", options.threads));
  if (!supports(options.arithmetic)) throw Error("unet: " + convolution_missing(options.arithmetic));
  state_->description = describe(weights);
  state_->weights = std::make_shared<const Weights>(weights);
  state_->options = options;
  const int usable = usable_threads();
  state_->options.threads = options.threads == 0 ? usable : std::min(options.threads, usable);
}

UNet UNet::load(const std::string& path, const UNetOptions& options) { return UNet(Weights::load(path), options); }

const UNetDescription& UNet::description() const { return state_->description; }
const UNetOptions& UNet::options() const { return state_->options; }
const std::map<std::string, std::string>& UNet::metadata() const { return state_->weights->metadata(); }
index_t UNet::height() const { return state_->height; }
index_t UNet::width() const { return state_->width; }

void UNet::prepare(index_t height, index_t width) {
  State& s = *state_;
  if (s.prepared && height == s.height && width == s.width) return;
  const index_t multiple = s.description.multiple();
  constexpr index_t kMost = 1 << 15;  // of a side
  for (const auto& [what, side] : {std::pair("height", height), {"width", width}})
    if (side < multiple || side % multiple != 0 || side > kMost)
      throw Error(fmt::format("unet: {} {}; allowed for {} levels: multiples of {} up to {}", what, side,
                              s.description.levels(), multiple, kMost));
  const ThreadScope threads(s.options.threads);
  s.prepared = nullptr;
  s.height = s.width = 0;
  s.arena = Arena();
  s.prepared =
      std::make_shared<const Prepared>(oriel::nn::prepare(*s.weights, s.description, s.options, height, width));
  s.height = height;
  s.width = width;
  s.take_memory();
}

void UNet::run(const float* image, float* logits) { run(image, logits, {}); }

void UNet::run(const float* image, float* logits, const Observer& observer) {
  State& s = *state_;
  if (!s.prepared) throw Error("unet: run before prepare(height, width)");
  if (image == nullptr || logits == nullptr) throw Error("unet: the image and the result must not be null");
  const ThreadScope threads(s.options.threads);
  s.start_counts();
  const std::vector<NetworkStep>& steps = s.prepared->network.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    s.run_step(steps[i], s.prepared->works[i], image, logits);
    if (observer && steps[i].ends_block) s.show(steps[i], observer);
  }
}

UNet UNet::another() const {
  auto state = std::make_unique<State>();
  state->weights = state_->weights;
  state->description = state_->description;
  state->options = state_->options;
  state->height = state_->height;
  state->width = state_->width;
  state->prepared = state_->prepared;
  if (state->prepared) state->take_memory();
  return UNet(std::move(state));
}

std::vector<UNetStep> UNet::steps() const {
  std::vector<UNetStep> out;
  if (!state_->prepared) return out;
  const Prepared& p = *state_->prepared;
  for (std::size_t i = 0; i < p.works.size(); ++i) {
    const NetworkStep& step = p.network.steps[i];
    const bool copy = step.kind == StepKind::copy_in || step.kind == StepKind::copy_out;
    const std::string own = copy ? "copy" : step.kind == StepKind::pool ? "oriel max pool" : "oriel";
    out.push_back({step.block, step.layer, p.works[i].convolutions.empty() ? own : p.works[i].convolutions[0].name(),
                   p.works[i].milliseconds, step.multiplications});
  }
  return out;
}

UNetMemory UNet::memory() const {
  if (!state_->prepared) return {};
  const Prepared& p = *state_->prepared;
  return {p.plan.bytes, p.plan.lower_bound, p.weight_bytes};
}

const std::vector<UNetCopies>& UNet::copies() const { return state_->copies; }

}  // namespace oriel::nn
