#include "nn/cuda/engine.h"

#include <algorithm>

#include "nn/cuda/device_memory.h"
#include "nn/cuda/prepared.h"

namespace oriel::nn::cuda {
namespace {

using oriel::cuda::check;

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

int multiprocessors_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties.multiProcessorCount;
}

}  // namespace

void check_device() {
  try {
    current_device();
  } catch (const Error& e) {
    throw Error(std::string("unet: ") + e.what());
  }
}

namespace {

Prepared prepare_with(Cudnn& cudnn, const Weights& weights, const UNetDescription& description, index_t height,
                      index_t width, int device) {
  Trial* const trial = cudnn.trial ? &*cudnn.trial : nullptr;
  Prepared out = prepare(weights, description, height, width, multiprocessors_of(device), trial);
  cudnn.trial.reset();
  return out;
}

}  // namespace

// What engines of one size share: the plan, and the weights on the device.
struct Engine::Shared {
  Shared(const Weights& weights, const UNetDescription& description, bool trial, index_t height, index_t width)
      : device(current_device()),
        cudnn(trial),
        prepared(prepare_with(cudnn, weights, description, height, width, device)),
        weight_bytes(static_cast<index_t>(prepared.weights.size() * sizeof(float))),
        on_device(weight_bytes, "weights") {
    check(cudaMemcpy(on_device.at(0), prepared.weights.data(), static_cast<std::size_t>(weight_bytes),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
    prepared.weights = {};
  }

  bool uses_cudnn() const {
    return std::any_of(prepared.layers.begin(), prepared.layers.end(),
                       [](const Layer& l) { return bool(l.algorithm); });
  }

  int device;
  Cudnn cudnn;
  Prepared prepared;
  index_t weight_bytes;
  DeviceMemory on_device;
};

struct Engine::State {
  explicit State(std::shared_ptr<const Shared> from)
      : shared(std::move(from)), arena(shared->prepared.plan.bytes, "activations") {
    if (shared->uses_cudnn()) handle.emplace(shared->cudnn.library, stream.get());
  }

  const NetworkTensor& tensor(int i) const { return shared->prepared.network.tensors[static_cast<std::size_t>(i)]; }

  Planes planes(int i) const {
    if (i < 0) return {};
    const NetworkTensor& t = tensor(i);
    return {arena.at(shared->prepared.plan.offsets[static_cast<std::size_t>(i)]), t.plane, t.width};
  }

  int channels(int i) const { return i < 0 ? 0 : static_cast<int>(tensor(i).channels); }

  void convolve_by(const Layer& layer, const ConvolutionCall& call) const;
  void run_step(const NetworkStep& step, const Layer& layer, const float* image, float* logits, Copies& copies) const;
  void show(const NetworkStep& step, const UNet::Observer& observer) const;
  void check_device() const;

  std::shared_ptr<const Shared> shared;
  DeviceMemory arena;
  Stream stream;
  std::optional<cudnn::Handle> handle;  // of cuDNN, where a layer needs it
};

void Engine::State::convolve_by(const Layer& layer, const ConvolutionCall& call) const {
  if (!layer.algorithm) return convolve(call, layer.tile, stream.get());
  const int workspace = layer.workspace;
  void* const room =
      workspace < 0 ? nullptr : arena.at(shared->prepared.plan.offsets[static_cast<std::size_t>(workspace)]);
  handle->library()->check(layer.algorithm->run(*handle, call, room), "cudnnConvolutionBiasActivationForward");
  if (call.pooled.data != nullptr) pool({call.y, call.pooled, call.outputs, call.height, call.width}, stream.get());
}

void Engine::State::run_step(const NetworkStep& step, const Layer& layer, const float* image, float* logits,
                             Copies& copies) const {
  const Planes x = planes(step.input), y = planes(step.output);
  const float* const weights = shared->on_device.at(layer.weights);
  const float* const bias = shared->on_device.at(layer.bias);
  const NetworkTensor& read = tensor(std::max(step.input, 0));
  const int height = static_cast<int>(read.height), width = static_cast<int>(read.width);
  switch (step.kind) {
    case StepKind::copy_in:
      check(cudaMemcpyAsync(y.data, image, static_cast<std::size_t>(tensor(step.output).bytes), cudaMemcpyHostToDevice,
                            stream.get()),
            "cudaMemcpyAsync");
      return copies.count(step);
    case StepKind::convolution:  // joined inputs lie side by side
      return convolve_by(layer,
                         {x, y, planes(step.pooled), weights, bias, channels(step.input) + channels(step.input_more),
                          channels(step.output), height, width});
    case StepKind::up:
      return raise({x, y, weights, bias, channels(step.input), channels(step.output), height, width}, layer.raise_tile,
                   stream.get());
    case StepKind::head:
      return head({x, y, weights, bias, channels(step.input), channels(step.output), height, width}, stream.get());
    case StepKind::copy_out:
      check(cudaMemcpyAsync(logits, x.data, static_cast<std::size_t>(read.bytes), cudaMemcpyDeviceToHost, stream.get()),
            "cudaMemcpyAsync");
      return copies.count(step);
    case StepKind::pool:
      throw Error("unet: a pool that no convolution makes");  // the plan's form fuses them
  }
}

void Engine::State::show(const NetworkStep& step, const UNet::Observer& observer) const {
  const NetworkTensor& t = tensor(step.output);
  std::vector<float> planes_of(static_cast<std::size_t>(t.bytes) / sizeof(float));
  stream.wait();
  check(
      cudaMemcpy(planes_of.data(), planes(step.output).data, static_cast<std::size_t>(t.bytes), cudaMemcpyDeviceToHost),
      "cudaMemcpy");
  std::vector<float> values;
  for (index_t c = 0; c < t.channels; ++c) {
    const auto plane = planes_of.begin() + c * t.plane;
    values.insert(values.end(), plane, plane + t.height * t.width);
  }
  observer(step.block, {t.channels, t.height, t.width}, values);
}

Engine::Engine(const Weights& weights, const UNetDescription& description, bool trial, index_t height, index_t width)
    : state_(std::make_unique<State>(std::make_shared<const Shared>(weights, description, trial, height, width))) {}
Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Engine Engine::another() const { return Engine(std::make_unique<State>(state_->shared)); }
const Network& Engine::network() const { return state_->shared->prepared.network; }
const MemoryPlan& Engine::plan() const { return state_->shared->prepared.plan; }
index_t Engine::weight_bytes() const { return state_->shared->weight_bytes; }

std::string Engine::algorithm(std::size_t step) const {
  const NetworkStep& s = network().steps[step];
  const Layer& layer = state_->shared->prepared.layers[step];
  const auto tile = [](int outputs, int rows) {
    return "tiles of " + std::to_string(outputs) + "x" + std::to_string(rows) + "x32";
  };
  switch (s.kind) {
    case StepKind::convolution:
      if (layer.algorithm) return "cudnn " + layer.algorithm->name() + (s.pooled < 0 ? "" : ", then pooled");
      return "cuda " + tile(layer.tile.outputs(), 8 * layer.tile.bands) + (s.pooled < 0 ? "" : ", pooled");
    case StepKind::up:
      return "cuda " + tile(layer.raise_tile.outputs(), 4 * layer.raise_tile.bands);
    case StepKind::head:
      return "cuda";
    default:
      return "copy";
  }
}

double Engine::milliseconds(std::size_t step) const { return state_->shared->prepared.layers[step].milliseconds; }
std::string Engine::library() const { return state_->shared->cudnn.found; }

void Engine::State::check_device() const {
  if (const int device = current_device(); device != shared->device)
    throw Error("unet: prepared on CUDA device " + std::to_string(shared->device) + ", but the current device is " +
                std::to_string(device));
}

void Engine::run(const float* image, float* logits, Copies& copies, const UNet::Observer& observer) const {
  state_->check_device();
  const Prepared& p = state_->shared->prepared;
  for (std::size_t i = 0; i < p.network.steps.size(); ++i) {
    state_->run_step(p.network.steps[i], p.layers[i], image, logits, copies);
    if (observer && p.network.steps[i].ends_block) state_->show(p.network.steps[i], observer);
  }
  state_->stream.wait();
}

std::vector<double> Engine::time_steps(const float* image, float* logits, Copies& copies) const {
  state_->check_device();
  const Prepared& p = state_->shared->prepared;
  const std::vector<Event> events(p.network.steps.size() + 1);
  events.front().record(state_->stream);
  for (std::size_t i = 0; i < p.network.steps.size(); ++i) {
    state_->run_step(p.network.steps[i], p.layers[i], image, logits, copies);
    events[i + 1].record(state_->stream);
  }
  state_->stream.wait();
  std::vector<double> out;
  for (std::size_t i = 0; i < p.network.steps.size(); ++i) out.push_back(events[i + 1].since(events[i]));
  return out;
}

}  // namespace oriel::nn::cuda
