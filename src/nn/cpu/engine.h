// A prepared network on the CPU: its convolutions by a library, the rest by Oriel.
#pragma once

#include <memory>

#include "nn/cpu/arena.h"
#include "nn/cpu/blocks.h"
#include "nn/cpu/prepared.h"
#include "nn/network/copies.h"

namespace oriel::nn::cpu {

class Engine {
 public:
  Engine(const Weights& weights, const UNetDescription& description, const UNetOptions& options, index_t height,
         index_t width);

  /// With the same weights, and memory of its own.
  Engine another() const { return {options_, prepared_}; }
  const Network& network() const { return prepared_->network; }
  const MemoryPlan& plan() const { return prepared_->plan; }
  index_t weight_bytes() const { return prepared_->weight_bytes; }
  std::string algorithm(std::size_t step) const;
  std::string library() const { return convolution_library(); }
  double milliseconds(std::size_t step) const { return prepared_->works[step].milliseconds; }

  /// `observer` may be empty.
  void run(const float* image, float* logits, Copies& copies, const UNet::Observer& observer) const;
  /// The same without an observer; milliseconds by step.
  std::vector<double> time_steps(const float* image, float* logits, Copies& copies) const;

 private:
  Engine(const UNetOptions& options, std::shared_ptr<const Prepared> prepared);
  void* at(int tensor) const;
  Blocks blocks(int tensor) const;
  void run_step(const NetworkStep& step, const Work& work, const float* image, float* logits, Copies& copies) const;
  void copy_in(const NetworkStep& step, const float* image) const;
  void up(const NetworkStep& step, const Work& work) const;
  void show(const NetworkStep& step, const UNet::Observer& observer) const;

  UNetOptions options_;
  std::shared_ptr<const Prepared> prepared_;
  Arena arena_;
};

}  // namespace oriel::nn::cpu
