// Convolutions by oneDNN, version 2 and 3. This file and onednn_threads.cc alone know the library.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <unordered_map>

#include "nn/cpu/convolution.h"
#include "nn/cpu/threads.h"

namespace oriel::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

bool has_isa(dnnl::cpu_isa least) { return dnnl::get_effective_cpu_isa() >= least; }

Type type_of(Arithmetic arithmetic) { return arithmetic == Arithmetic::bf16 ? Type::bf16 : Type::f32; }

Tag layout_of(const ConvolutionShape& s) {
  if (s.channels_last) return Tag::nhwc;
  return channel_block(s.arithmetic) == 16 ? Tag::nChw16c : Tag::nChw8c;
}

dnnl::primitive_attr attributes(const ConvolutionShape& s) {
  dnnl::primitive_attr out;
  out.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (s.accumulate) after.append_sum();
#if DNNL_VERSION_MAJOR >= 3
  if (s.relu) after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
  if (s.relu) after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
  out.set_post_ops(after);
  return out;
}

using Description = dnnl::convolution_forward::primitive_desc;

// Calls `each` with every implementation of the algorithm that takes the shape. Throws dnnl::error when there is none.
void each_implementation(const ConvolutionShape& s, dnnl::algorithm algorithm,
                         const std::function<void(const Description&)>& each) {
  const Type type = type_of(s.arithmetic);
  const memory::desc input({1, s.inputs, s.height, s.width}, type, s.plain ? Tag::nchw : layout_of(s));
  const memory::desc output({1, s.outputs, s.height, s.width}, type, layout_of(s));
  const memory::desc weights({s.outputs, s.inputs, s.taps, s.taps}, type, Tag::any);
  const memory::desc bias = s.bias ? memory::desc({s.outputs}, Type::f32, Tag::x) : memory::desc();
  const memory::dims step{1, 1}, pad{s.taps / 2, s.taps / 2};
  const auto kind = dnnl::prop_kind::forward_inference;
  const dnnl::primitive_attr attr = attributes(s);
#if DNNL_VERSION_MAJOR >= 3
  Description found(engine(), kind, algorithm, input, weights, bias, output, step, pad, pad, attr);
#else
  // Version 2 looks for the next implementation by a pointer to this.
  const dnnl::convolution_forward::desc wanted(kind, algorithm, input, weights, bias, output, step, pad, pad);
  Description found(wanted, attr, engine());
#endif
  do {
    each(found);
  } while (found.next_impl());
}

std::string implementation(const Description& description) { return description.impl_info_str(); }

std::size_t size_of(const memory::desc& desc) { return desc.get_size(); }

}  // namespace

bool convolution_supported(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fp32 || has_isa(dnnl::cpu_isa::avx512_core);
}

std::string convolution_missing(Arithmetic) { return "bf16 needs a CPU with AVX-512; allowed here: fp32"; }

std::string convolution_library() {
  const dnnl::version_t* const v = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

bool prefers_channels_last(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::bf16 && has_isa(dnnl::cpu_isa::avx512_core_amx);
}

int channel_block(Arithmetic) { return has_isa(dnnl::cpu_isa::avx512_core) ? 16 : 8; }

struct Convolution::Way {
  ConvolutionShape shape;
  std::string name;
  bool winograd = false;
  Description description;
  dnnl::convolution_forward primitive;
  memory weights{};
  memory bias{};
};

std::vector<Convolution> Convolution::ways(const ConvolutionShape& shape) {
  std::vector<Convolution> out;
  const bool few = shape.plain || shape.inputs % channel_block(shape.arithmetic) != 0;
  with_threads([&] {
    for (const bool winograd : {true, false}) {
      const auto algorithm = winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
      try {
        each_implementation(shape, algorithm, [&](const Description& description) {
          const std::string found = implementation(description);
          const bool slow = found.starts_with("ref") || found.find("gemm:ref") != std::string::npos;
          if (slow && (shape.plain || !out.empty()))
            return;  // blocks with empty channels are faster than a plain image
          Convolution way;
          way.way_ = std::make_shared<Way>(Way{shape, fmt::format("{} {}", winograd ? "winograd" : "direct", found),
                                               winograd, description, dnnl::convolution_forward(description)});
          out.push_back(std::move(way));
        });
      } catch (const dnnl::error&) {  // no implementation of this algorithm takes the shape
      }
    }
  });
  if (out.empty() && !few)
    throw Error(fmt::format("oneDNN has no convolution {}x{} -> {} at {}x{} on this machine", shape.taps, shape.inputs,
                            shape.outputs, shape.height, shape.width));
  return out;
}

const std::string& Convolution::name() const { return way_->name; }
bool Convolution::is_winograd() const { return way_->winograd; }
index_t Convolution::scratch_bytes() const {
  return static_cast<index_t>(size_of(way_->description.scratchpad_desc()));
}
index_t Convolution::weight_bytes() const { return static_cast<index_t>(size_of(way_->description.weights_desc())); }

Convolution Convolution::fresh() const {
  Convolution out;
  out.way_ = std::make_shared<Way>(*way_);
  out.way_->weights = memory();
  out.way_->bias = memory();
  return out;
}

void Convolution::pack(const float* weights, const float* bias) {
  Way& way = *way_;
  const ConvolutionShape& s = way.shape;
  dnnl::stream stream(engine());
  memory given({{s.outputs, s.inputs, s.taps, s.taps}, Type::f32, Tag::oihw}, engine(), const_cast<float*>(weights));
  way.weights = memory(way.description.weights_desc(), engine());
  with_threads([&] { dnnl::reorder(given, way.weights).execute(stream, given, way.weights); });
  stream.wait();
  if (!s.bias) return;
  way.bias = memory(way.description.bias_desc(), engine());
  std::memcpy(way.bias.get_data_handle(), bias, static_cast<std::size_t>(s.outputs) * sizeof(float));
}

void Convolution::pack_zeros() {
  Way& way = *way_;
  way.weights = memory(way.description.weights_desc(), engine());
  std::memset(way.weights.get_data_handle(), 0, size_of(way.description.weights_desc()));
  if (!way.shape.bias) return;
  way.bias = memory(way.description.bias_desc(), engine());
  std::memset(way.bias.get_data_handle(), 0, size_of(way.description.bias_desc()));
}

void Convolution::run(const void* input, void* output, void* scratch) const {
  const Way& way = *way_;
  dnnl::stream stream(engine());
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, memory(way.description.src_desc(), engine(), const_cast<void*>(input))},
      {DNNL_ARG_WEIGHTS, way.weights},
      {DNNL_ARG_DST, memory(way.description.dst_desc(), engine(), output)},
      {DNNL_ARG_SCRATCHPAD, memory(way.description.scratchpad_desc(), engine(), scratch)}};
  if (way.shape.bias) arguments.emplace(DNNL_ARG_BIAS, way.bias);
  with_threads([&] { way.primitive.execute(stream, arguments); });
  stream.wait();
}

}  // namespace oriel::nn
