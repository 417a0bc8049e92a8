// Trials of convolutions on the device: Oriel's kernel against cuDNN's algorithms.
#pragma once

#include <optional>

#include "nn/cuda/cudnn.h"
#include "nn/cuda/device_memory.h"

namespace oriel::nn::cuda {

/// The fastest way of a convolution.
struct Choice {
  std::optional<cudnn::Algorithm> algorithm{};  ///< none: Oriel's kernel
  double milliseconds = 0;
};

class Trial {
 public:
  /// Throws Error where the library gives no handle.
  explicit Trial(std::shared_ptr<const cudnn::Library> library);

  /// Times all ways of the shape on tensors of zeros, each shape once. With `pooled` the 2x2 maxima are wanted too:
  /// Oriel's convolution makes them, behind cuDNN's comes a kernel of their own. Workspaces beyond 1 GiB are not tried.
  Choice choose(const cudnn::Shape& shape, ConvolutionTile tile, bool pooled);

 private:
  struct Known {
    cudnn::Shape shape;
    bool pooled;
    Choice choice;
  };

  Choice measure(const cudnn::Shape& shape, ConvolutionTile tile, bool pooled) const;
  template <class Work>
  double least_milliseconds(const Work& work) const;

  Stream stream_;
  cudnn::Handle handle_;
  std::vector<Known> known_;
};

/// cuDNN for a network, where it is to be timed and can be; else why not.
struct Cudnn {
  explicit Cudnn(bool asked);

  std::shared_ptr<const cudnn::Library> library{};
  std::optional<Trial> trial{};
  std::string found{};  ///< for people, e.g. `cuDNN 9.1.0`
};

}  // namespace oriel::nn::cuda
