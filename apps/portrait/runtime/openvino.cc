// Networks of ONNX and TensorFlow Lite files, run by OpenVINO. This file alone becomes the optional part of the
// program.
#include <algorithm>
#include <openvino/frontend/tensorflow_lite/decoder.hpp>
#include <openvino/frontend/tensorflow_lite/extension/conversion.hpp>
#include <openvino/frontend/tensorflow_lite/node_context.hpp>
#include <openvino/op/add.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/convolution.hpp>
#include <openvino/op/transpose.hpp>
#include <openvino/openvino.hpp>
#include <stdexcept>

#include "apps/portrait/runtime/network.h"

namespace oriel::portrait {
namespace {

namespace lite = ov::frontend::tensorflow_lite;

ov::Output<ov::Node> transposed(const ov::Output<ov::Node>& x, const std::vector<std::int64_t>& axes) {
  const auto order = ov::op::v0::Constant::create(ov::element::i64, {axes.size()}, axes);
  return std::make_shared<ov::op::v1::Transpose>(x, order);
}

// MediaPipe's own operation: input [n][h][w][i], weights [o][2][2][i], bias [o] -> [n][2h][2w][o]. OpenVINO does not
// know it.
ov::OutputVector transposed_convolution(const ov::frontend::NodeContext& node) {
  const char* const name = "Convolution2DTransposeBias";
  if (node.get_input_size() != 3) throw std::runtime_error(std::string(name) + ": it must have 3 inputs");
  const ov::Output<ov::Node> x = node.get_input(0), weights = node.get_input(1), bias = node.get_input(2);
  const ov::PartialShape window = weights.get_partial_shape();
  if (window.is_dynamic() || window.size() != 4 || window[1] != 2 || window[2] != 2)
    throw std::runtime_error(std::string(name) + ": weights of shape " + window.to_string() +
                             "; allowed: a 2x2 window with stride 2");
  const auto convolution = std::make_shared<ov::op::v1::ConvolutionBackpropData>(
      transposed(x, {0, 3, 1, 2}), transposed(weights, {3, 0, 1, 2}), ov::Strides{2, 2}, ov::CoordinateDiff{0, 0},
      ov::CoordinateDiff{0, 0}, ov::Strides{1, 1});
  const ov::Output<ov::Node> y = transposed(convolution, {0, 2, 3, 1});  // [n][2h][2w][o]
  return {std::make_shared<ov::op::v1::Add>(y, bias)};
}

// The last lines of OpenVINO's errors say what is wrong; those before say where in its source.
std::string reason(const std::string& text) {
  std::string kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    for (const char* start : {"Exception from ", "Check '", "While validating node "})
      if (line.starts_with(start)) line.clear();
    if (line.find_first_not_of(" \t:-.") == std::string::npos) continue;
    kept += (kept.empty() ? "" : " ") + line;
  }
  return kept.empty() ? text.substr(0, text.find('\n')) : kept;
}

[[noreturn]] void fail(const std::exception& e) { throw std::runtime_error(reason(e.what())); }

bool keeps_values(std::string_view type) {
  return type == "Convert" || type == "Reshape" || type == "Squeeze" || type == "Transpose" || type == "Unsqueeze";
}

Port port_of(const ov::Output<const ov::Node>& port, bool output) {
  Port p;
  const auto& names = port.get_names();
  p.name = names.empty() ? port.get_node()->get_friendly_name() : *std::min_element(names.begin(), names.end());
  const ov::PartialShape& shape = port.get_partial_shape();
  p.any_rank = shape.rank().is_dynamic();
  if (!p.any_rank)
    for (const ov::Dimension& d : shape) p.shape.push_back(d.is_dynamic() ? -1 : d.get_length());
  if (!output) return p;
  const ov::Node* made_by = port.get_node()->get_input_node_ptr(0);
  while (keeps_values(made_by->get_type_name())) made_by = made_by->get_input_node_ptr(0);
  p.made_by = made_by->get_type_name();
  return p;
}

class OpenvinoRun final : public NetworkRun {
 public:
  explicit OpenvinoRun(ov::InferRequest request) : request_(std::move(request)) {}

  std::vector<Values> run(const std::vector<Values>& inputs) override {
    try {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        ov::Tensor tensor = request_.get_input_tensor(i);
        tensor.set_shape(ov::Shape(inputs[i].shape.begin(), inputs[i].shape.end()));
        std::copy(inputs[i].values.begin(), inputs[i].values.end(), tensor.data<float>());
      }
      request_.infer();
      std::vector<Values> results(request_.get_compiled_model().outputs().size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const ov::Tensor tensor = request_.get_output_tensor(i);
        const ov::Shape shape = tensor.get_shape();
        results[i].shape.assign(shape.begin(), shape.end());
        results[i].values.assign(tensor.data<float>(), tensor.data<float>() + tensor.get_size());
      }
      return results;
    } catch (const std::exception& e) {
      fail(e);
    }
  }

 private:
  ov::InferRequest request_;
};

class OpenvinoNetwork final : public Network {
 public:
  explicit OpenvinoNetwork(const std::string& file) {
    core_.add_extension(
        std::make_shared<lite::ConversionExtension>("Convolution2DTransposeBias", transposed_convolution));
    model_ = core_.read_model(file);
    for (const auto& port : std::as_const(*model_).inputs()) inputs_.push_back(port_of(port, false));
    for (const auto& port : std::as_const(*model_).outputs()) outputs_.push_back(port_of(port, true));
  }

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  std::vector<std::string> operations() const override {
    std::vector<std::string> types;
    for (const auto& node : model_->get_ops()) types.emplace_back(node->get_type_name());
    return types;
  }

  void compile(const std::vector<std::vector<index_t>>& shapes, const std::vector<std::size_t>& outputs,
               const NetworkOptions& o) override {
    try {
      ov::ResultVector wanted;
      for (const std::size_t i : outputs) wanted.push_back(model_->get_results().at(i));
      auto part = std::make_shared<ov::Model>(wanted, model_->get_parameters());
      std::map<ov::Output<ov::Node>, ov::PartialShape> fixed;
      for (std::size_t i = 0; i < shapes.size(); ++i)
        fixed[part->input(i)] = ov::PartialShape(std::vector<ov::Dimension>(shapes[i].begin(), shapes[i].end()));
      part->reshape(fixed);
      ov::preprocess::PrePostProcessor types(part);
      for (std::size_t i = 0; i < shapes.size(); ++i) types.input(i).tensor().set_element_type(ov::element::f32);
      for (std::size_t i = 0; i < outputs.size(); ++i) types.output(i).tensor().set_element_type(ov::element::f32);
      ov::AnyMap properties = {ov::hint::inference_precision(o.half ? ov::element::bf16 : ov::element::f32),
                               ov::hint::enable_cpu_pinning(false)};
      properties.insert(ov::num_streams(o.at_once));
      if (const int threads = o.at_once > 1 ? o.at_once : o.threads; threads > 0)
        properties.insert(ov::inference_num_threads(threads));
      compiled_ = core_.compile_model(types.build(), "CPU", properties);
    } catch (const std::exception& e) {
      fail(e);
    }
  }

  std::unique_ptr<NetworkRun> make_run() override {
    try {
      return std::make_unique<OpenvinoRun>(compiled_.create_infer_request());
    } catch (const std::exception& e) {
      fail(e);
    }
  }

 private:
  ov::Core core_;
  std::shared_ptr<ov::Model> model_;
  ov::CompiledModel compiled_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace
}  // namespace oriel::portrait

extern "C" __attribute__((visibility("default"))) oriel::portrait::Network* oriel_open_network(
    const std::string& file) {
  try {
    return new oriel::portrait::OpenvinoNetwork(file);
  } catch (const std::exception& e) {
    oriel::portrait::fail(e);
  }
}
