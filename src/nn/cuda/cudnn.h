// cuDNN's convolutions with bias and ReLU, beside Oriel's own. The library is loaded as the program runs, and its C
// functions are declared here as far as they are used: a build needs nothing of it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "nn/cuda/layers.h"

namespace oriel::nn::cuda {

/// Names under which the library is looked for, in order. Another file has them for the grid emulator, on which the
/// real library must not be let loose.
std::vector<std::string> cudnn_names();

namespace cudnn {

using Status = int;  // 0: done

// Values of its enumerations; algorithms by number.
inline constexpr int kFloat = 0, kNchw = 0, kCrossCorrelation = 1, kFmaMath = 3, kRelu = 1, kPropagateNan = 1;

inline constexpr std::array<const char*, 8> kAlgorithms = {
    "implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling", "winograd", "winograd_nonfused"};

// What the library's handles and descriptors point to.
struct Context;
struct Tensor;
struct Filter;
struct Convolution;
struct Activation;

/// The library's functions, each called as there with `cudnn` before it.
struct Functions {
  std::size_t (*GetVersion)();
  const char* (*GetErrorString)(Status);
  Status (*Create)(Context**);
  Status (*Destroy)(Context*);
  Status (*SetStream)(Context*, void* stream);
  Status (*CreateTensorDescriptor)(Tensor**);
  Status (*DestroyTensorDescriptor)(Tensor*);
  Status (*SetTensor4dDescriptorEx)(Tensor*, int type, int n, int c, int h, int w, int n_stride, int c_stride,
                                    int h_stride, int w_stride);
  Status (*CreateFilterDescriptor)(Filter**);
  Status (*DestroyFilterDescriptor)(Filter*);
  Status (*SetFilter4dDescriptor)(Filter*, int type, int format, int k, int c, int h, int w);
  Status (*CreateConvolutionDescriptor)(Convolution**);
  Status (*DestroyConvolutionDescriptor)(Convolution*);
  Status (*SetConvolution2dDescriptor)(Convolution*, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                       int dilation_w, int mode, int type);
  Status (*SetConvolutionMathType)(Convolution*, int math);
  Status (*CreateActivationDescriptor)(Activation**);
  Status (*DestroyActivationDescriptor)(Activation*);
  Status (*SetActivationDescriptor)(Activation*, int mode, int nan, double coefficient);
  Status (*GetConvolutionForwardWorkspaceSize)(Context*, Tensor* x, Filter*, Convolution*, Tensor* y, int algorithm,
                                               std::size_t* bytes);
  Status (*ConvolutionBiasActivationForward)(Context*, const void* alpha1, Tensor* x, const void* x_data, Filter*,
                                             const void* weights, Convolution*, int algorithm, void* workspace,
                                             std::size_t workspace_bytes, const void* alpha2, Tensor* z,
                                             const void* z_data, Tensor* bias, const void* bias_data, Activation*,
                                             Tensor* y, void* y_data);
};

/// The loaded library.
class Library {
 public:
  /// The first of cudnn_names() that has every function. Throws Error saying what is wrong with each.
  static std::shared_ptr<const Library> load();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  const Functions& functions() const { return functions_; }
  std::string version() const;  ///< e.g. `9.1.0`
  /// Throws Error with the library's own text unless `status` says that `call` is done.
  void check(Status status, const char* call) const;

 private:
  explicit Library(const std::string& name);

  void* handle_;
  Functions functions_{};
};

/// A handle of the library, whose work goes to one stream.
class Handle {
 public:
  Handle(std::shared_ptr<const Library> library, void* stream);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();

  const std::shared_ptr<const Library>& library() const { return library_; }
  Context* get() const { return context_; }

 private:
  std::shared_ptr<const Library> library_;
  Context* context_ = nullptr;
};

/// What a 3x3 convolution that keeps height and width works on: planes of dense rows, as a network's tensors have them.
struct Shape {
  index_t inputs = 0;
  index_t outputs = 0;
  index_t height = 0;
  index_t width = 0;
  index_t input_plane = 0;  ///< pitch between channels
  index_t output_plane = 0;

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// One algorithm for one shape, in binary32 without TF32: products and sums by fused multiply-adds.
class Algorithm {
 public:
  /// Those that take the shape, none where its numbers do not fit the library's.
  static std::vector<Algorithm> all(const Handle& handle, const Shape& shape);

  std::string name() const;  ///< e.g. `winograd_nonfused`
  index_t workspace_bytes() const { return workspace_bytes_; }
  /// y of `call` from its x, weights [outputs][inputs][3][3] and bias; `pooled` is not looked at. `workspace` has
  /// workspace_bytes(). Returns the library's status.
  Status run(const Handle& handle, const ConvolutionCall& call, void* workspace) const;

 private:
  struct Descriptors;
  Algorithm(std::shared_ptr<const Descriptors> descriptors, int number, index_t workspace_bytes)
      : descriptors_(std::move(descriptors)), number_(number), workspace_bytes_(workspace_bytes) {}

  std::shared_ptr<const Descriptors> descriptors_;  // of the shape
  int number_;
  index_t workspace_bytes_;
};

}  // namespace cudnn
}  // namespace oriel::nn::cuda
