// A prepared network on a CUDA device: weights and activations stay there, one copy in and one out. engine.cc carries
// it out, none.cc says that the build has none.
#pragma once

#include <memory>
#include <string>

#include "nn/network/copies.h"
#include "nn/network/memory_plan.h"

namespace oriel::nn::cuda {

/// Throws Error where this build or machine has no CUDA device.
void check_device();

class Engine {
 public:
  /// Takes memory of the current device, uploads the weights once. With `trial`, and where cuDNN is found, each
  /// convolution is carried out by what is fastest; else by Oriel's kernels. Throws Error, with CUDA's own text.
  Engine(const Weights& weights, const UNetDescription& description, bool trial, index_t height, index_t width);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// With the same weights, and memory and a stream of its own.
  Engine another() const;
  const Network& network() const;
  const MemoryPlan& plan() const;
  index_t weight_bytes() const;
  std::string algorithm(std::size_t step) const;
  double milliseconds(std::size_t step) const;
  /// What may carry convolutions out beside Oriel's kernels, or why nothing may.
  std::string library() const;

  /// Waits until `logits` are there. `observer` may be empty; what it sees is copied beside what `copies` counts.
  void run(const float* image, float* logits, Copies& copies, const UNet::Observer& observer) const;
  /// The same without an observer; milliseconds by step.
  std::vector<double> time_steps(const float* image, float* logits, Copies& copies) const;

 private:
  struct Shared;
  struct State;
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace oriel::nn::cuda
