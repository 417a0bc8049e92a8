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
  Preparation(const Weights& weights, const UNetDescription& description, int multiprocessors)
      : weights_(weights), description_(description), multiprocessors_(multiprocessors) {}

  Prepared prepare(index_t height, index_t width) {
    NetworkForm form;
    form.height = height;
    form.width = width;
    form.block = 1;
    form.fused_pools = true;
    form.plane_multiple = kLine;
    out_.network = make_network(description_, form);
    for (const NetworkStep& step : out_.network.steps) out_.layers.push_back(layer(step));
    out_.plan = plan_memory(out_.network.lifetimes());
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
    const index_t padded = rounded_up(outputs, layer.tile.outputs());
    std::vector<float> packed(static_cast<std::size_t>(inputs * kTaps * padded));  // [inputs][taps][padded]
    for (index_t o = 0; o < outputs; ++o)
      for (index_t row = 0; row < inputs * kTaps; ++row)
        packed[static_cast<std::size_t>(row * padded + o)] =
            folded.weights[static_cast<std::size_t>(o * inputs * kTaps + row)];
    layer.weights = append(packed);
    layer.bias = append(folded.bias);
    return layer;
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
  Prepared out_;
};

}  // namespace

Prepared prepare(const Weights& weights, const UNetDescription& description, index_t height, index_t width,
                 int multiprocessors) {
  return Preparation(weights, description, multiprocessors).prepare(height, width);
}

}  // namespace oriel::nn::cuda
