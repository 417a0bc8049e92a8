#include "oriel/nn/unet.h"

#include <sched.h>

#include <algorithm>
#include <variant>

#include "nn/cpu/engine.h"
#include "nn/cuda/engine.h"
#include "text.h"

namespace oriel::nn {
namespace {

int usable_threads() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

void check_support(const UNetOptions& options) {
  if (options.device == Device::cuda) {
    cuda::check_device();
    if (options.arithmetic != Arithmetic::fp32)
      throw Error(
          fmt::format("unet: networks on CUDA devices run in fp32, but {} was requested", name(options.arithmetic)));
  } else if (!convolution_supported(options.arithmetic)) {
    throw Error("unet: " + convolution_missing(options.arithmetic));
  }
}

}  // namespace

std::string_view name(Arithmetic arithmetic) { return arithmetic == Arithmetic::bf16 ? "bf16" : "fp32"; }

Arithmetic parse_arithmetic(std::string_view text) {
  for (Arithmetic a : {Arithmetic::fp32, Arithmetic::bf16})
    if (text == name(a)) return a;
  throw Error(fmt::format("arithmetic '{}'; allowed: fp32, bf16", text));
}

bool supports(Arithmetic arithmetic, Device device) {
  if (device == Device::cpu) return convolution_supported(arithmetic);
  try {
    cuda::check_device();
  } catch (const Error&) {
    return false;
  }
  return arithmetic == Arithmetic::fp32;
}

struct UNet::State {
  std::shared_ptr<const Weights> weights;
  UNetDescription description;
  UNetOptions options;
  index_t height = 0;
  index_t width = 0;
  std::variant<std::monostate, cpu::Engine, cuda::Engine> engine;
  Copies copies;

  bool is_prepared() const { return engine.index() != 0; }

  // f(the engine), one being prepared.
  template <class F>
  auto with_engine(F&& f) const {
    if (const auto* const device = std::get_if<cuda::Engine>(&engine)) return f(*device);
    return f(std::get<cpu::Engine>(engine));
  }

  // The same for a run, of which copies are counted anew.
  template <class F>
  auto run_engine(const float* image, const float* logits, F&& f) {
    if (!is_prepared()) throw Error("unet: run before prepare(height, width)");
    if (image == nullptr || logits == nullptr) throw Error("unet: the image and the result must not be null");
    return with_engine([&](const auto& prepared) {
      copies.start(prepared.network());
      return f(prepared);
    });
  }
};

UNet::UNet(std::unique_ptr<State> state) : state_(std::move(state)) {}
UNet::UNet(UNet&&) noexcept = default;
UNet& UNet::operator=(UNet&&) noexcept = default;
UNet::~UNet() = default;

UNet::UNet(const Weights& weights, const UNetOptions& options) : state_(std::make_unique<State>()) {
  if (options.threads < 0)
    throw Error(fmt::format("unet: threads must be >= 0, but it is {}; 0 means all", options.threads));
  check_support(options);
  state_->description = describe(weights);
  state_->weights = std::make_shared<const Weights>(weights);
  state_->options = options;
  const int usable = usable_threads();
  state_->options.threads = options.threads == 0 ? usable : std::min(options.threads, usable);
}

const UNetDescription& UNet::description() const { return state_->description; }
const UNetOptions& UNet::options() const { return state_->options; }
const std::map<std::string, std::string>& UNet::metadata() const { return state_->weights->metadata(); }
index_t UNet::height() const { return state_->height; }
index_t UNet::width() const { return state_->width; }

void UNet::prepare(index_t height, index_t width) {
  State& s = *state_;
  if (s.is_prepared() && height == s.height && width == s.width) return;
  const index_t multiple = s.description.multiple();
  constexpr index_t kMost = 1 << 15;  // of a side
  for (const auto& [what, side] : {std::pair("height", height), {"width", width}})
    if (side < multiple || side % multiple != 0 || side > kMost)
      throw Error(fmt::format("unet: {} {}; allowed for {} levels: multiples of {} up to {}", what, side,
                              s.description.levels(), multiple, kMost));
  s.engine = std::monostate();
  s.height = s.width = 0;
  if (s.options.device == Device::cuda)
    s.engine = cuda::Engine(*s.weights, s.description, s.options.trial, height, width);
  else
    s.engine = cpu::Engine(*s.weights, s.description, s.options, height, width);
  s.height = height;
  s.width = width;
  s.with_engine([&](const auto& engine) { s.copies.start(engine.network()); });
}

void UNet::run(const float* image, float* logits) { run(image, logits, {}); }

void UNet::run(const float* image, float* logits, const Observer& observer) {
  state_->run_engine(image, logits, [&](const auto& engine) { engine.run(image, logits, state_->copies, observer); });
}

std::vector<double> UNet::time_steps(const float* image, float* logits) {
  return state_->run_engine(image, logits,
                            [&](const auto& engine) { return engine.time_steps(image, logits, state_->copies); });
}

UNet UNet::another() const {
  auto state = std::make_unique<State>();
  state->weights = state_->weights;
  state->description = state_->description;
  state->options = state_->options;
  state->height = state_->height;
  state->width = state_->width;
  state->copies = state_->copies;
  if (state_->is_prepared()) state_->with_engine([&](const auto& engine) { state->engine = engine.another(); });
  return UNet(std::move(state));
}

std::vector<UNetStep> UNet::steps() const {
  std::vector<UNetStep> out;
  if (!state_->is_prepared()) return out;
  state_->with_engine([&](const auto& engine) {
    const std::vector<NetworkStep>& steps = engine.network().steps;
    for (std::size_t i = 0; i < steps.size(); ++i)
      out.push_back(
          {steps[i].block, steps[i].layer, engine.algorithm(i), engine.milliseconds(i), steps[i].multiplications});
  });
  return out;
}

UNetMemory UNet::memory() const {
  if (!state_->is_prepared()) return {};
  return state_->with_engine([](const auto& engine) -> UNetMemory {
    return {engine.plan().bytes, engine.plan().lower_bound, engine.weight_bytes()};
  });
}

std::string UNet::library() const {
  return state_->is_prepared() ? state_->with_engine([](const auto& engine) { return engine.library(); }) : "";
}

const std::vector<UNetCopies>& UNet::copies() const { return state_->copies.rows(); }

}  // namespace oriel::nn
