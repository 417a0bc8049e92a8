#include "nn/cpu/prepared.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "nn/cpu/arena.h"

namespace oriel::nn {
namespace {

double milliseconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// The way that a trial found best for a shape.
struct Choice {
  ConvolutionShape shape;
  Convolution way;
  double milliseconds = 0;
};

// Picks ways, each shape once.
class Chooser {
 public:
  explicit Chooser(bool trial) : trial_(trial) {}

  Choice choose(const ConvolutionShape& shape) {
    for (const Choice& known : known_)
      if (known.shape == shape) return {shape, known.way.fresh(), known.milliseconds};
    std::vector<Convolution> ways = Convolution::ways(shape);
    Choice best{shape, ways.front(), 0};
    if (trial_ && ways.size() > 1) best = measure(shape, ways);
    known_.push_back(best);
    return {shape, best.way.fresh(), best.milliseconds};
  }

 private:
  static Choice measure(const ConvolutionShape& shape, const std::vector<Convolution>& ways) {
    constexpr int kRuns = 2;         // after the one that warms up
    constexpr double kHopeless = 2;  // a first run this many times slower than the best ends a way's trial
    const index_t element = shape.arithmetic == Arithmetic::bf16 ? 2 : 4, pixels = shape.height * shape.width;
    const Arena input(shape.inputs * pixels * element), output(shape.outputs * pixels * element);
    std::fill_n(input.at(0), shape.inputs * pixels * element, std::byte{0});
    std::fill_n(output.at(0), shape.outputs * pixels * element, std::byte{0});  // which may be added to
    Choice best{shape, ways.front(), std::numeric_limits<double>::infinity()};
    for (Convolution way : ways) {
      way = way.fresh();  // whose weights end with the trial
      const Arena scratch(way.scratch_bytes());
      way.pack_zeros();
      double least = std::numeric_limits<double>::infinity();
      for (int run = 0; run <= kRuns && (run < 2 || least < kHopeless * best.milliseconds); ++run)
        least = std::min(least, milliseconds_of([&] { way.run(input.at(0), output.at(0), scratch.at(0)); }));
      if (least < best.milliseconds) best = {shape, way.fresh(), least};
    }
    return best;
  }

  bool trial_;
  std::vector<Choice> known_;
};

class Preparation {
 public:
  Preparation(const Weights& weights, const UNetDescription& d, const UNetOptions& options, index_t height,
              index_t width)
      : weights_(weights), d_(d), options_(options), chooser_(options.trial) {
    form_.height = height;
    form_.width = width;
    form_.block = channel_block(options.arithmetic);
    form_.channels_last = options.layout == UNetLayout::pick ? prefers_channels_last(options.arithmetic)
                                                             : options.layout == UNetLayout::channels_last;
    out_.channels_last = form_.channels_last;
    form_.dtype = options.arithmetic == Arithmetic::bf16 ? Dtype::bf16 : Dtype::f32;
  }

  Prepared prepare() {
    form_.plain_image = reads_plain_image();
    out_.network = make_network(d_, form_);
    lifetimes_ = out_.network.lifetimes();
    for (std::size_t s = 0; s < out_.network.steps.size(); ++s) out_.works.push_back(work(static_cast<int>(s)));
    out_.plan = plan_memory(lifetimes_);
    return std::move(out_);
  }

 private:
  ConvolutionShape shape_of(index_t inputs, index_t outputs, const NetworkTensor& at) const {
    ConvolutionShape shape;
    shape.inputs = inputs;
    shape.outputs = outputs;
    shape.height = at.height;
    shape.width = at.width;
    shape.arithmetic = options_.arithmetic;
    shape.channels_last = form_.channels_last;
    return shape;
  }

  bool reads_plain_image() const {
    const index_t b = form_.block, outputs = (d_.widths.front() + b - 1) / b * b;
    NetworkTensor at;
    at.height = form_.height;
    at.width = form_.width;
    ConvolutionShape shape = shape_of(d_.input_channels, outputs, at);
    shape.plain = !form_.channels_last;
    return !Convolution::ways(shape).empty();
  }

  const NetworkTensor& tensor(int i) const { return out_.network.tensors[static_cast<std::size_t>(i)]; }

  int only_in(int step, index_t bytes) {
    if (bytes == 0) return -1;
    lifetimes_.push_back({bytes, step, step, -1});
    return static_cast<int>(lifetimes_.size()) - 1;
  }

  Work work(int number) {
    const NetworkStep& step = out_.network.steps[static_cast<std::size_t>(number)];
    Work work;
    if (step.kind == StepKind::convolution) convolution(step, number, work);
    if (step.kind == StepKind::up) up(step, number, work);
    if (step.kind == StepKind::head) {
      Folded folded = head_weights(weights_, step.keys.convolution, tensor(step.input).channels);
      work.weights = std::move(folded.weights);
      work.bias = std::move(folded.bias);
      out_.weight_bytes += static_cast<index_t>((work.weights.size() + work.bias.size()) * sizeof(float));
    }
    return work;
  }

  void convolution(const NetworkStep& step, int number, Work& work) {
    const NetworkTensor& output = tensor(step.output);
    const index_t more = step.input_more < 0 ? 0 : tensor(step.input_more).channels;
    ConvolutionShape shape = shape_of(tensor(step.input).channels + more, output.channels, output);
    shape.plain = tensor(step.input).plain;
    if (more > 0 && form_.channels_last) return two_convolutions(step, number, shape, work);
    Choice choice = chooser_.choose(shape);
    take(choice, fold(weights_, step.keys, shape.outputs, shape.inputs, step.runs), work);
    work.milliseconds = choice.milliseconds;
    work.scratch = only_in(number, choice.way.scratch_bytes());
  }

  // Joined inputs that do not lie side by side: the second is convolved onto the first one's result.
  void two_convolutions(const NetworkStep& step, int number, ConvolutionShape shape, Work& work) {
    index_t scratch = 0;
    for (int part : {0, 1}) {
      shape.inputs = tensor(part == 0 ? step.input : step.input_more).channels;
      shape.relu = shape.bias = shape.accumulate = part == 1;
      ChannelRun run = step.runs[static_cast<std::size_t>(part)];
      run.to = 0;
      Choice choice = chooser_.choose(shape);
      take(choice, fold(weights_, step.keys, shape.outputs, shape.inputs, {run}), work);
      work.milliseconds += choice.milliseconds;
      scratch = std::max(scratch, choice.way.scratch_bytes());
    }
    work.scratch = only_in(number, scratch);
  }

  void up(const NetworkStep& step, int number, Work& work) {
    const NetworkTensor& input = tensor(step.input);
    const index_t outputs = tensor(step.output).channels;
    ConvolutionShape shape = shape_of(input.channels, 2 * outputs, input);
    shape.taps = 1;
    shape.relu = false;
    shape.bias = false;
    index_t scratch = 0;
    for (int dy : {0, 1}) {
      Choice choice = chooser_.choose(shape);
      Folded folded = transposed_row(weights_, step.keys.convolution, dy, outputs, input.channels);
      take(choice, folded, work);
      work.milliseconds += choice.milliseconds;
      work.bias = std::move(folded.bias);
      scratch = choice.way.scratch_bytes();
    }
    work.scratch = only_in(number, scratch);
    work.row = only_in(number, 2 * outputs * input.height * input.width * size_bytes(form_.dtype));
  }

  void take(Choice& choice, const Folded& folded, Work& work) {
    choice.way.pack(folded.weights.data(), folded.bias.data());
    out_.weight_bytes += choice.way.weight_bytes() + static_cast<index_t>(folded.bias.size() * sizeof(float));
    work.convolutions.push_back(choice.way);
  }

  const Weights& weights_;
  const UNetDescription& d_;
  const UNetOptions& options_;
  Chooser chooser_;
  NetworkForm form_;
  Prepared out_;
  std::vector<Lifetime> lifetimes_;
};

}  // namespace

Prepared prepare(const Weights& weights, const UNetDescription& description, const UNetOptions& options, index_t height,
                 index_t width) {
  return Preparation(weights, description, options, height, width).prepare();
}

}  // namespace oriel::nn
