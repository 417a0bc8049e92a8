// Convolutions on the CPU: what a library of them is asked for. One file carries it out (onednn.cc), another says that
// there is none (none.cc).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oriel/nn/unet.h"

namespace oriel::nn {

/// True when convolutions in `arithmetic` can be carried out here.
bool convolution_supported(Arithmetic arithmetic);
/// Why not, for an error.
std::string convolution_missing(Arithmetic arithmetic);

/// Name and version of the library that carries them out.
std::string convolution_library();

/// Channels are held in blocks of this many, [C/b][H][W][b]: 16 where the CPU has vectors of 16 floats, else 8.
int channel_block(Arithmetic arithmetic);

/// Whether channels last are the faster layout.
bool prefers_channels_last(Arithmetic arithmetic);

/// A convolution of stride 1 that keeps height and width, with bias, and ReLU where asked.
struct ConvolutionShape {
  index_t inputs = 0;   ///< channels; a multiple of the block, unless `plain`
  index_t outputs = 0;  ///< channels, a multiple of the block
  index_t height = 0;
  index_t width = 0;
  int taps = 3;  ///< along each axis: 3 or 1
  bool relu = true;
  bool bias = true;
  bool plain = false;          ///< the input is an image [inputs][height][width]
  bool channels_last = false;  ///< input and output are [height][width][channels], not blocks
  bool accumulate = false;     ///< added to what the output holds, before ReLU
  Arithmetic arithmetic = Arithmetic::fp32;

  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// One way to carry out a convolution.
class Convolution {
 public:
  /// The ways that there are, the library's preferred ones first; empty only for a plain image, or one with
  /// few channels last, that it cannot read. To be called, as run(), in a ThreadScope of the same number of threads.
  static std::vector<Convolution> ways(const ConvolutionShape& shape);

  const std::string& name() const;  ///< e.g. `winograd jit_wino_4x3:avx512_core`
  bool is_winograd() const;
  index_t scratch_bytes() const;  ///< working memory of a run
  index_t weight_bytes() const;

  /// The same way without weights: copies share them.
  Convolution fresh() const;
  /// Lays out weights [outputs][inputs][taps][taps] and bias [outputs] (null without).
  void pack(const float* weights, const float* bias);
  /// Until pack: weights of zeros, for a trial.
  void pack_zeros();
  /// From and to blocks, or channels last; `scratch` has scratch_bytes(). All begin at multiples of 64.
  void run(const void* input, void* output, void* scratch) const;

 private:
  struct Way;
  std::shared_ptr<Way> way_;  // shared by copies
};

}  // namespace oriel::nn
