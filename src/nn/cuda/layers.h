// The layers of a network on device memory, put on a stream: f32, sums by fused multiply-adds over the channels in
// ascending order and the taps in row-major order from 0 on, then the bias. So every tile shape gives the same bits.
#pragma once

#include "oriel/types.h"

namespace oriel::nn::cuda {

/// A tensor [channels][height][width] in device memory; neighbours in a row stand beside each other.
struct Planes {
  float* data = nullptr;
  index_t plane = 0;  ///< pitch between channels, in elements
  index_t row = 0;    ///< pitch between rows
};

/// What a block of threads computes of a convolution: 8 `groups` channels of 8 `bands` rows and 32 columns. Each of its
/// groups x bands warps has 8 channels of 8 rows, each thread 8 channels of 2 x 4 places.
struct ConvolutionTile {
  int groups = 8;
  int bands = 1;

  int outputs() const { return 8 * groups; }
};

/// The tile for a layer on a device of that many multiprocessors: no more channels than there are, and smaller ones
/// where large ones would leave multiprocessors idle.
ConvolutionTile pick_tile(index_t outputs, index_t height, index_t width, int multiprocessors);

/// y = max(0, 3x3 convolution of x + bias), both height x width; places outside of x are absent.
struct ConvolutionCall {
  Planes x{};
  Planes y{};
  Planes pooled{};                 ///< where its data is not null also the 2x2 maxima of y, step 2, whole windows only
  const float* weights = nullptr;  ///< [inputs][9][outputs, padded to whole tiles], at a multiple of 16 bytes
  const float* bias = nullptr;     ///< [outputs]
  int inputs = 0;
  int outputs = 0;
  int height = 0;
  int width = 0;
};
void convolve(const ConvolutionCall& call, ConvolutionTile tile, void* stream);

/// y = the 2x2 maxima of x (height x width), step 2, whole windows only: for a convolution that is not Oriel's.
struct PoolCall {
  Planes x{};
  Planes y{};
  int channels = 0;
  int height = 0;  ///< of x; neither side is less than 2
  int width = 0;
};
void pool(const PoolCall& call, void* stream);

/// Channels of a block of threads of `raise`: 4 `groups`, of 4 `bands` rows of x and 32 columns.
struct RaiseTile {
  int groups = 8;
  int bands = 1;

  int outputs() const { return 4 * groups; }
};
RaiseTile pick_raise_tile(index_t outputs);

/// y (2 height x 2 width) = 2x2 transposed convolution, step 2, of x (height x width), + bias.
struct RaiseCall {
  Planes x{};
  Planes y{};
  const float* weights = nullptr;  ///< [inputs][outputs, padded to whole tiles][2][2], at a multiple of 16 bytes
  const float* bias = nullptr;     ///< [outputs]
  int inputs = 0;
  int outputs = 0;
  int height = 0;  ///< of x
  int width = 0;
};
void raise(const RaiseCall& call, RaiseTile tile, void* stream);

/// y = 1x1 convolution of x to few channels, + bias.
struct HeadCall {
  Planes x{};
  Planes y{};
  const float* weights = nullptr;  ///< [classes][inputs]
  const float* bias = nullptr;     ///< [classes]
  int inputs = 0;
  int classes = 0;
  int height = 0;
  int width = 0;
};
void head(const HeadCall& call, void* stream);

}  // namespace oriel::nn::cuda
