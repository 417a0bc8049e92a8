// What a network does beside convolutions, on tensors in blocks of channels [C/b][H][W][b] of f32 or bf16; b = C is
// channels last. Every
// function shares its work out on the convolutions' threads.
#pragma once

#include <span>

#include "oriel/tensor.h"

namespace oriel::nn {

/// A tensor in blocks.
struct Blocks {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  int block = 16;
  index_t channels = 0;  ///< padded to whole blocks
  index_t height = 0;
  index_t width = 0;
};

/// image [channels][count] of f32, to the same of `dtype`.
void copy_image(const float* image, index_t count, Dtype dtype, void* out);

/// image [channels][height][width] -> blocks, zero beyond `channels`.
void image_to_blocks(const float* image, index_t channels, const Blocks& out);

/// The first `channels` of the blocks as [channels][height][width] of f32.
void blocks_to_plain(const Blocks& in, index_t channels, float* out);

/// 2x2 maxima with step 2.
void pool(const Blocks& in, const Blocks& out);

/// One row of taps of a transposed 2x2 convolution, put where it belongs: out(c, 2y + dy, 2x + dx) = bias(c) +
/// row(dx C + c, y, x), C the channels of `out`. Where `out` is one block of C channels, `row` is one of 2C.
void spread(const Blocks& row, int dy, std::span<const float> bias, const Blocks& out);

/// 1x1 convolution to few channels: out[k][y][x] = bias[k] + sum over c of weights[k][c] in(c, y, x), f32.
void head(const Blocks& in, std::span<const float> weights, std::span<const float> bias, float* out);

}  // namespace oriel::nn
