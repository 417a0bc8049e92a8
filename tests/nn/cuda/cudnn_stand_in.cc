#include "nn/cuda/cudnn_stand_in.h"

#include <cmath>
#include <memory>

#define EXPORTED extern "C" __attribute__((visibility("default")))

using cudnn_stand_in::kAlgorithms;
using cudnn_stand_in::kNotSupported;

namespace {

struct Context {
  void* stream = nullptr;
};
struct Tensor {
  std::vector<int> numbers;  // n c h w, then their strides

  std::ptrdiff_t at(int c, int y, int x) const {
    return std::ptrdiff_t{c} * numbers[5] + std::ptrdiff_t{y} * numbers[6] + std::ptrdiff_t{x} * numbers[7];
  }
};
struct Filter {
  std::vector<int> numbers;
};
struct Convolution {
  std::vector<int> numbers;
  int math = 0;
};
struct Activation {
  int mode = -1, nan = -1;
};

cudnn_stand_in::State& state() {
  static cudnn_stand_in::State s;
  return s;
}

int status_of(const char* call) {
  const auto at = state().failing.find(call);
  return at == state().failing.end() ? 0 : at->second;
}

template <class T>
int create(T** out, const char* call) {
  if (const int status = status_of(call); status != 0) return status;
  *out = std::make_unique<T>().release();
  ++state().living;
  return 0;
}

template <class T>
int destroy(T* p) {
  const std::unique_ptr<T> owned(p);
  --state().living;
  return 0;
}

void expect(bool holds, const char* what) {
  if (!holds) state().complaints.emplace_back(what);
}

void expect_written(const float* p, int count, const char* what) {
  expect(state().grid.all_written(p, static_cast<std::size_t>(count) * sizeof(float)), what);
}

float relu(float v) { return std::isnan(v) || v > 0 ? v : 0.0F; }

// One result, by a float's sum in the order of the taps: not the order of Oriel's kernels.
float place(const Tensor& x, const float* from, const float* weights, int o, int row, int column) {
  const int inputs = x.numbers[1], height = x.numbers[2], width = x.numbers[3];
  float sum = 0;
  for (int tap = 8; tap >= 0; --tap)
    for (int c = 0; c < inputs; ++c) {
      const int y = row + tap / 3 - 1, z = column + tap % 3 - 1;
      if (y < 0 || y >= height || z < 0 || z >= width) continue;
      sum += from[x.at(c, y, z)] * weights[(o * inputs + c) * 9 + tap];
    }
  return sum;
}

void expect_readable(const Tensor& t, const float* data, const char* what) {
  for (int c = 0; c < t.numbers[1]; ++c)
    for (int y = 0; y < t.numbers[2]; ++y) expect_written(data + t.at(c, y, 0), t.numbers[3], what);
}

}  // namespace

EXPORTED cudnn_stand_in::State* oriel_cudnn_stand_in();
cudnn_stand_in::State* oriel_cudnn_stand_in() { return &state(); }

#pragma GCC diagnostic ignored "-Wmissing-declarations"

EXPORTED std::size_t cudnnGetVersion() { return state().version; }
EXPORTED const char* cudnnGetErrorString(int status) {
  return status == kNotSupported ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_EXECUTION_FAILED";
}
EXPORTED int cudnnCreate(Context** out) { return create(out, "cudnnCreate"); }
EXPORTED int cudnnDestroy(Context* p) { return destroy(p); }
EXPORTED int cudnnSetStream(Context* context, void* stream) {
  context->stream = stream;
  return status_of("cudnnSetStream");
}
EXPORTED int cudnnCreateTensorDescriptor(Tensor** out) { return create(out, "cudnnCreateTensorDescriptor"); }
EXPORTED int cudnnDestroyTensorDescriptor(Tensor* p) { return destroy(p); }
EXPORTED int cudnnSetTensor4dDescriptorEx(Tensor* tensor, int type, int n, int c, int h, int w, int n_stride,
                                          int c_stride, int h_stride, int w_stride) {
  expect(type == 0, "a tensor's type is not CUDNN_DATA_FLOAT");
  tensor->numbers = {n, c, h, w, n_stride, c_stride, h_stride, w_stride};
  return status_of("cudnnSetTensor4dDescriptorEx");
}
EXPORTED int cudnnCreateFilterDescriptor(Filter** out) { return create(out, "cudnnCreateFilterDescriptor"); }
EXPORTED int cudnnDestroyFilterDescriptor(Filter* p) { return destroy(p); }
EXPORTED int cudnnSetFilter4dDescriptor(Filter* filter, int type, int format, int k, int c, int h, int w) {
  expect(type == 0 && format == 0, "a filter is not CUDNN_DATA_FLOAT in CUDNN_TENSOR_NCHW");
  filter->numbers = {k, c, h, w};
  return status_of("cudnnSetFilter4dDescriptor");
}
EXPORTED int cudnnCreateConvolutionDescriptor(Convolution** out) {
  return create(out, "cudnnCreateConvolutionDescriptor");
}
EXPORTED int cudnnDestroyConvolutionDescriptor(Convolution* p) { return destroy(p); }
EXPORTED int cudnnSetConvolution2dDescriptor(Convolution* convolution, int pad_h, int pad_w, int stride_h, int stride_w,
                                             int dilation_h, int dilation_w, int mode, int type) {
  expect(mode == 1 && type == 0, "a convolution is not CUDNN_CROSS_CORRELATION in CUDNN_DATA_FLOAT");
  convolution->numbers = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w};
  return status_of("cudnnSetConvolution2dDescriptor");
}
#ifndef ORIEL_NO_MATH_TYPE
EXPORTED int cudnnSetConvolutionMathType(Convolution* convolution, int math) {
  convolution->math = math;
  return status_of("cudnnSetConvolutionMathType");
}
#endif
EXPORTED int cudnnCreateActivationDescriptor(Activation** out) {
  return create(out, "cudnnCreateActivationDescriptor");
}
EXPORTED int cudnnDestroyActivationDescriptor(Activation* p) { return destroy(p); }
EXPORTED int cudnnSetActivationDescriptor(Activation* activation, int mode, int nan, double) {
  *activation = {mode, nan};
  return status_of("cudnnSetActivationDescriptor");
}

EXPORTED int cudnnGetConvolutionForwardWorkspaceSize(Context*, Tensor* x, Filter* filter, Convolution* convolution,
                                                     Tensor* y, int algorithm, std::size_t* bytes) {
  if (algorithm < 0 || algorithm >= kAlgorithms) return 2000;  // CUDNN_STATUS_BAD_PARAM
  const std::vector<int>&a = x->numbers, &b = y->numbers, &f = filter->numbers;
  expect(convolution->numbers == std::vector<int>{1, 1, 1, 1, 1, 1}, "a convolution does not keep height and width");
  expect(f == std::vector<int>{b[1], a[1], 3, 3} && a[2] == b[2] && a[3] == b[3], "the shapes do not fit");
  const auto i = static_cast<std::size_t>(algorithm);
  if (state().milliseconds[i] < 0) return kNotSupported;
  *bytes = state().workspace[i];
  return 0;
}

EXPORTED int cudnnConvolutionBiasActivationForward(Context* context, const void* alpha1, Tensor* x, const void* x_data,
                                                   Filter* filter, const void* weights, Convolution* convolution,
                                                   int algorithm, void* workspace, std::size_t workspace_bytes,
                                                   const void* alpha2, Tensor* z, const void*, Tensor* bias,
                                                   const void* bias_data, Activation* activation, Tensor* y,
                                                   void* y_data) {
  if (const int status = status_of("cudnnConvolutionBiasActivationForward"); status != 0) return status;
  const auto i = static_cast<std::size_t>(algorithm);
  if (state().failing.count("algorithm " + std::to_string(algorithm)) != 0) return kNotSupported;
  const int outputs = y->numbers[1];
  expect(*static_cast<const float*>(alpha1) == 1 && *static_cast<const float*>(alpha2) == 0 && z == y, "wrong scales");
  expect(activation->mode == 1, "the activation is not CUDNN_ACTIVATION_RELU");
  expect(bias->numbers == std::vector<int>{1, outputs, 1, 1, outputs, 1, 1, 1}, "the bias is of another shape");
  expect(workspace_bytes >= state().workspace[i] && (workspace != nullptr || workspace_bytes == 0), "too little room");
  const auto* const from = static_cast<const float*>(x_data);
  const auto *const w = static_cast<const float*>(weights), *const b = static_cast<const float*>(bias_data);
  auto* const to = static_cast<float*>(y_data);
  expect_readable(*x, from, "an input is read before it is written");
  expect_written(w, outputs * filter->numbers[1] * 9, "weights are not there");
  expect_written(b, outputs, "the bias is not there");
  for (std::size_t k = 0; k < workspace_bytes; ++k) static_cast<unsigned char*>(workspace)[k] = 0xaa;
  for (int o = 0; o < outputs; ++o)
    for (int row = 0; row < y->numbers[2]; ++row) {
      for (int column = 0; column < y->numbers[3]; ++column)
        to[y->at(o, row, column)] = relu(place(*x, from, w, o, row, column) + b[o]);
      state().grid.mark_written(to + y->at(o, row, 0), static_cast<std::size_t>(y->numbers[3]) * sizeof(float));
    }
  *state().grid.clock += state().milliseconds[i];
  state().calls.push_back({algorithm, convolution->math, activation->nan, context->stream, x->numbers, y->numbers,
                           workspace, workspace_bytes});
  return 0;
}
