#include "nn/cpu/blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nn/cpu/threads.h"
#include "oriel/pool.h"

namespace oriel::nn {
namespace {

constexpr index_t kPieces = 64;  // in which work is at least divided among threads

// Conversions of the inner loops: the compiler makes vectors of them, which it does not of bfloat16's own.
float widen(bfloat16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }
float widen(float value) { return value; }

template <class T>
T narrow(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return T::from_bits(static_cast<std::uint16_t>((nan ? bits | 0x400000U : rounded) >> 16));
  }
}

template <class F>
void visit_element(Dtype dtype, F&& f) {
  if (dtype == Dtype::bf16)
    f.template operator()<bfloat16>();
  else
    f.template operator()<float>();
}

// body(block of channels, first row, last row + 1) over all blocks and bands of `rows`.
template <class Body>
void for_bands(index_t blocks, index_t rows, const Body& body) {
  const index_t bands = std::min(rows, (kPieces + blocks - 1) / blocks);
  share_out(blocks * bands, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      const index_t band = i % bands;
      body(i / bands, rows * band / bands, rows * (band + 1) / bands);
    }
  });
}

template <class T, int B>
void head_pixels(const Blocks& in, const float* weights, float bias, float* out, index_t begin, index_t end) {
  constexpr index_t kChunk = 64;
  const index_t pixels = in.height * in.width;
  const index_t block_pitch = in.block == B ? pixels * B : B;  // channels last: a pixel's blocks lie side by side
  for (index_t p = begin; p < end; p += kChunk) {
    const index_t count = std::min(kChunk, end - p);
    alignas(64) float sum[kChunk * B] = {};
    for (index_t block = 0; block < in.channels / B; ++block) {
      const T* const x = static_cast<const T*>(in.data) + block * block_pitch + p * in.block;
      const float* const w = weights + block * B;
      for (index_t i = 0; i < count; ++i)
        for (int lane = 0; lane < B; ++lane) sum[i * B + lane] += w[lane] * widen(x[i * in.block + lane]);
    }
    for (index_t i = 0; i < count; ++i) {
      float* const s = sum + i * B;
      for (int half = B / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) s[lane] += s[lane + half];
      out[p + i] = s[0] + bias;
    }
  }
}

}  // namespace

void copy_image(const float* image, index_t count, Dtype dtype, void* out) {
  visit_element(dtype, [&]<class T>() {
    T* const to = static_cast<T*>(out);
    share_out(count, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) to[i] = narrow<T>(image[i]);
    });
  });
}

void image_to_blocks(const float* image, index_t channels, const Blocks& out) {
  const index_t b = out.block, pixels = out.height * out.width;
  visit_element(out.dtype, [&]<class T>() {
    for_bands(out.channels / b, out.height, [&](index_t block, index_t first, index_t last) {
      T* const to = static_cast<T*>(out.data) + block * pixels * b;
      for (index_t p = first * out.width; p < last * out.width; ++p)
        for (index_t lane = 0; lane < b; ++lane) {
          const index_t c = block * b + lane;
          to[p * b + lane] = narrow<T>(c < channels ? image[c * pixels + p] : 0.0F);
        }
    });
  });
}

void blocks_to_plain(const Blocks& in, index_t channels, float* out) {
  const index_t b = in.block, pixels = in.height * in.width;
  visit_element(in.dtype, [&]<class T>() {
    for_bands((channels + b - 1) / b, in.height, [&](index_t block, index_t first, index_t last) {
      const T* const from = static_cast<const T*>(in.data) + block * pixels * b;
      for (index_t c = block * b; c < std::min(channels, (block + 1) * b); ++c)
        for (index_t p = first * in.width; p < last * in.width; ++p)
          out[c * pixels + p] = widen(from[p * b + c - block * b]);
    });
  });
}

void pool(const Blocks& in, const Blocks& out) {
  const index_t b = in.block, size = size_bytes(in.dtype);
  const Pool two{.op = Op::max, .windows = {.kernel = {2, 2}, .axes = {0, 1}}};
  for_bands(out.channels / b, out.height, [&](index_t block, index_t first, index_t last) {
    const auto* const x =
        static_cast<const std::byte*>(in.data) + (block * in.height + 2 * first) * in.width * b * size;
    auto* const y = static_cast<std::byte*>(out.data) + (block * out.height + first) * out.width * b * size;
    forward(two,
            {.x = ConstTensor(x, in.dtype, {2 * (last - first), in.width, b}),
             .y = Tensor(y, out.dtype, {last - first, out.width, b})},
            {.threads = 1});
  });
}

void spread(const Blocks& row, int dy, std::span<const float> bias, const Blocks& out) {
  const index_t b = out.block;
  const index_t apart = row.block == b ? out.channels * row.height * row.width : out.channels;
  visit_element(out.dtype, [&]<class T>() {
    for_bands(out.channels / b, row.height, [&](index_t block, index_t first, index_t last) {
      const float* const add = bias.data() + block * b;
      for (index_t y = first; y < last; ++y) {
        T* to = static_cast<T*>(out.data) + (block * out.height + 2 * y + dy) * out.width * b;
        const T* left = static_cast<const T*>(row.data) + (block * row.height + y) * row.width * row.block;
        const T* right = left + apart;
        for (index_t x = 0; x < row.width; ++x, to += 2 * b, left += row.block, right += row.block)
          for (index_t lane = 0; lane < b; ++lane) {
            to[lane] = narrow<T>(widen(left[lane]) + add[lane]);
            to[b + lane] = narrow<T>(widen(right[lane]) + add[lane]);
          }
      }
    });
  });
}

void head(const Blocks& in, std::span<const float> weights, std::span<const float> bias, float* out) {
  const index_t pixels = in.height * in.width;
  visit_element(in.dtype, [&]<class T>() {
    share_out(pixels, [&](index_t begin, index_t end) {
      for (std::size_t k = 0; k < bias.size(); ++k) {
        const float* const w = weights.data() + k * static_cast<std::size_t>(in.channels);
        float* const to = out + static_cast<index_t>(k) * pixels;
        if (in.block % 16 == 0)
          head_pixels<T, 16>(in, w, bias[k], to, begin, end);
        else
          head_pixels<T, 8>(in, w, bias[k], to, begin, end);
      }
    });
  });
}

}  // namespace oriel::nn
