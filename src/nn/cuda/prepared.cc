#include "nn/cuda/prepared.h"

#include <array>

namespace oriel::nn::cuda {
namespace {

constexpr index_t kLine =
    64 / sizeof(float);  // floats, of which a channel's plane and each layer's weights are multiples
constexpr int kTaps = 9;

index_t rounded_up(index_t n, index_t multiple) { return (n + multiple - 1) / multiple * multiple; }

class Preparation {
 public:
  Preparation(const Weights& weights, const UNetDescription& description, int multiprocessors, Trial* trial)
      : weights_(weights), description_(description), multiprocessors_(multiprocessors), trial_(trial) {}

  Prepared prepare(index_t height, index_t width) {
    NetworkForm form;
    form.height = height;
    form.width = width;
    form.block = 1;
    form.fused_pools = true;
    form.plane_multiple = kLine;
    out_.network = make_network(description_, form);
    lifetimes_ = out_.network.lifetimes();
    for (const NetworkStep& step : out_.network.steps) out_.layers.push_back(layer(step));
    out_.plan = plan_memory(lifetimes_);
    return std::move(out_);
  }

 private:
  const NetworkTensor& tensor(int i) const { return out_.network.tensors[static_cast<std::size_t>(i)]; }

  Layer layer(const NetworkStep& step) {
    switch (step.kind) {
      case StepKind::convolution:
        return convolution(step);
      case StepKind::up:
        return raised(step);
      case StepKind::head: {
        const Folded folded = head_weights(weights_, step.keys.convolution, tensor(step.input).channels);
        return {append(folded.weights), append(folded.bias)};
      }
      default:
        return {};
    }
  }

  Layer convolution(const NetworkStep& step) {
    const NetworkTensor& output = tensor(step.output);
    const index_t more = step.input_more < 0 ? 0 : tensor(step.input_more).channels;
    const index_t inputs = tensor(step.input).channels + more, outputs = output.channels;
    const Folded folded = fold(weights_, step.keys, outputs, inputs, step.runs);
    Layer layer;
    layer.tile = pick_tile(outputs, output.height, output.width, multiprocessors_);
    if (trial_ != nullptr) {
      const cudnn::Shape shape{inputs, outputs, output.height, output.width, tensor(step.input).plane, output.plane};
      Choice choice = trial_->choose(shape, layer.tile, step.pooled >= 0);
      layer.algorithm = std::move(choice.algorithm);
      layer.milliseconds = choice.milliseconds;
    }
    layer.weights = append(layer.algorithm ? folded.weights : packed(folded.weights, inputs, outputs, layer.tile));
    layer.bias = append(folded.bias);
    if (layer.algorithm) layer.workspace = only_in_this_step(layer.algorithm->workspace_bytes());
    return layer;
  }

  // As the kernel reads them: [inputs][taps][outputs, padded to whole tiles].
  static std::vector<float> packed(const std::vector<float>& weights, index_t inputs, index_t outputs,
                                   ConvolutionTile tile) {
    const index_t padded = rounded_up(outputs, tile.outputs());
    std::vector<float> out(static_cast<std::size_t>(inputs * kTaps * padded));
    for (index_t o = 0; o < outputs; ++o)
      for (index_t row = 0; row < inputs * kTaps; ++row)
        out[static_cast<std::size_t>(row * padded + o)] = weights[static_cast<std::size_t>(o * inputs * kTaps + row)];
    return out;
  }

  // The number of a tensor of the plan that lives in the step whose layer is being made; -1 without bytes.
  int only_in_this_step(index_t bytes) {
    if (bytes == 0) return -1;
    const int step = static_cast<int>(out_.layers.size());
    lifetimes_.push_back({bytes, step, step, -1});
    return static_cast<int>(lifetimes_.size()) - 1;
  }

  Layer raised(const NetworkStep& step) {
    const index_t inputs = tensor(step.input).channels, outputs = tensor(step.output).channels;
    Layer layer;
    layer.raise_tile = pick_raise_tile(outputs);
    const index_t padded = rounded_up(outputs, layer.raise_tile.outputs());
    std::vector<float> packed(static_cast<std::size_t>(inputs * padded * 4));  // [inputs][padded][dy][dx]
    std::vector<float> bias;
    for (index_t dy : {0, 1}) {
      Folded row = transposed_row(weights_, step.keys.convolution, static_cast<int>(dy), outputs, inputs);
      for (index_t dx : {0, 1})
        for (index_t o = 0; o < outputs; ++o)
          for (index_t i = 0; i < inputs; ++i)
            packed[static_cast<std::size_t>(((i * padded + o) * 2 + dy) * 2 + dx)] =
                row.weights[static_cast<std::size_t>((dx * outputs + o) * inputs + i)];
      bias = std::move(row.bias);
    }
    layer.weights = append(packed);
    layer.bias = append(bias);
    return layer;
  }

  // Where the values begin, in bytes.
  index_t append(const std::vector<float>& values) {
    const auto at = static_cast<index_t>(out_.weights.size());
    out_.weights.insert(out_.weights.end(), values.begin(), values.end());
    out_.weights.resize(static_cast<std::size_t>(rounded_up(static_cast<index_t>(out_.weights.size()), kLine)));
    return at * static_cast<index_t>(sizeof(float));
  }

  const Weights& weights_;
  const UNetDescription& description_;
  int multiprocessors_;
  Trial* trial_;
  std::vector<Lifetime> lifetimes_;
  Prepared out_;
};

}  // namespace

Prepared prepare(const Weights& weights, const UNetDescription& description, index_t height, index_t width,
                 int multiprocessors, Trial* trial) {
  return Preparation(weights, description, multiprocessors, trial).prepare(height, width);
}

}  // namespace oriel::nn::cuda
