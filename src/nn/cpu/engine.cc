#include "nn/cpu/engine.h"

#include <algorithm>
#include <chrono>

#include "nn/cpu/threads.h"

namespace oriel::nn::cpu {
namespace {

std::shared_ptr<const Prepared> prepare_within(const Weights& weights, const UNetDescription& description,
                                               const UNetOptions& options, index_t height, index_t width) {
  const ThreadScope threads(options.threads);
  return std::make_shared<const Prepared>(prepare(weights, description, options, height, width));
}

}  // namespace

Engine::Engine(const Weights& weights, const UNetDescription& description, const UNetOptions& options, index_t height,
               index_t width)
    : Engine(options, prepare_within(weights, description, options, height, width)) {}

Engine::Engine(const UNetOptions& options, std::shared_ptr<const Prepared> prepared)
    : options_(options), prepared_(std::move(prepared)), arena_(prepared_->plan.bytes) {}

void* Engine::at(int tensor) const {
  return tensor < 0 ? nullptr : arena_.at(prepared_->plan.offsets[static_cast<std::size_t>(tensor)]);
}

Blocks Engine::blocks(int tensor) const {
  const NetworkTensor& t = prepared_->network.tensors[static_cast<std::size_t>(tensor)];
  const int block = prepared_->channels_last ? static_cast<int>(t.channels) : channel_block(options_.arithmetic);
  return {at(tensor), t.dtype, block, t.channels, t.height, t.width};
}

void Engine::copy_in(const NetworkStep& step, const float* image) const {
  const Blocks out = blocks(step.output);
  if (prepared_->network.tensors[static_cast<std::size_t>(step.output)].plain)
    copy_image(image, out.channels * out.height * out.width, out.dtype, out.data);
  else
    image_to_blocks(image, step.channels, out);
}

void Engine::up(const NetworkStep& step, const Work& work) const {
  Blocks row = blocks(step.input);
  const Blocks out = blocks(step.output);
  row.data = at(work.row);
  row.channels = 2 * out.channels;
  row.block = prepared_->channels_last ? 2 * out.block : out.block;
  for (int dy : {0, 1}) {
    work.convolutions[static_cast<std::size_t>(dy)].run(at(step.input), row.data, at(work.scratch));
    spread(row, dy, work.bias, out);
  }
}

void Engine::run_step(const NetworkStep& step, const Work& work, const float* image, float* logits,
                      Copies& copies) const {
  switch (step.kind) {
    case StepKind::copy_in:
      copy_in(step, image);
      return copies.count(step);
    case StepKind::convolution:
      work.convolutions.front().run(at(step.input), at(step.output), at(work.scratch));
      if (work.convolutions.size() == 2)
        work.convolutions.back().run(at(step.input_more), at(step.output), at(work.scratch));
      return;
    case StepKind::pool:
      return pool(blocks(step.input), blocks(step.output));
    case StepKind::up:
      return up(step, work);
    case StepKind::head:
      return head(blocks(step.input), work.weights, work.bias, static_cast<float*>(at(step.output)));
    case StepKind::copy_out: {
      const Blocks values = blocks(step.input);
      std::copy_n(static_cast<const float*>(values.data), values.channels * values.height * values.width, logits);
      return copies.count(step);
    }
  }
}

void Engine::show(const NetworkStep& step, const UNet::Observer& observer) const {
  const Blocks value = blocks(step.output);
  std::vector<float> plain(static_cast<std::size_t>(step.channels * value.height * value.width));
  if (step.kind == StepKind::head)
    std::copy_n(static_cast<const float*>(value.data), plain.size(), plain.data());
  else
    blocks_to_plain(value, step.channels, plain.data());
  observer(step.block, {step.channels, value.height, value.width}, plain);
}

void Engine::run(const float* image, float* logits, Copies& copies, const UNet::Observer& observer) const {
  const ThreadScope threads(options_.threads);
  const std::vector<NetworkStep>& steps = prepared_->network.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    run_step(steps[i], prepared_->works[i], image, logits, copies);
    if (observer && steps[i].ends_block) show(steps[i], observer);
  }
}

std::vector<double> Engine::time_steps(const float* image, float* logits, Copies& copies) const {
  using Clock = std::chrono::steady_clock;
  const ThreadScope threads(options_.threads);
  const std::vector<NetworkStep>& steps = prepared_->network.steps;
  std::vector<double> out;
  Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    run_step(steps[i], prepared_->works[i], image, logits, copies);
    const Clock::time_point end = Clock::now();
    out.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
    begin = end;
  }
  return out;
}

std::string Engine::algorithm(std::size_t step) const {
  const StepKind kind = prepared_->network.steps[step].kind;
  if (kind == StepKind::copy_in || kind == StepKind::copy_out) return "copy";
  if (kind == StepKind::pool) return "oriel max pool";
  const std::vector<Convolution>& convolutions = prepared_->works[step].convolutions;
  return convolutions.empty() ? "oriel" : convolutions[0].name();
}

}  // namespace oriel::nn::cpu
