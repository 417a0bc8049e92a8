// Pooling in the tile language, as kernels that fit the machines: channels are cut into tiles of 128
// partitions, images into bands of rows that fit SBUF. Tensors are [planes, height, width]: batch and channels
// together.
#pragma once

#include <algorithm>

#include "oriel/tile/jit.h"
#include "oriel/window.h"

namespace oriel::tile {

namespace kernels {

/// A pool's windows along height and width.
struct Windows {
  std::array<int, 2> kernel{2, 2}, stride{2, 2}, padding{0, 0}, dilation{1, 1};
  std::array<int, 2> padding_after{-1, -1};  // padding at the end; -1: as at the beginning
  bool ceil_mode = false;                    // whether a partial last window counts (S1)
  bool count_include_pad = true;             // averages
  int rows = 0;                              // rows of the result in a band; 0: as many as fit the smallest machine

  int after(std::size_t a) const { return padding_after[a] < 0 ? padding[a] : padding_after[a]; }
  /// Outputs along axis 0 or 1 for `n` inputs.
  int outputs(int axis, int n) const {
    const auto a = static_cast<std::size_t>(axis);
    return static_cast<int>(Axis::uniform(n, kernel[a], stride[a], padding[a], after(a), dilation[a], ceil_mode).out);
  }
  /// Number of elements of the padded axis that a number of outputs covers.
  int covered(int axis, int outputs) const {
    const auto a = static_cast<std::size_t>(axis);
    return (outputs - 1) * stride[a] + dilation[a] * (kernel[a] - 1) + 1;
  }
  /// The extent of a tile along an axis: the padded input, and the part of `ceil_mode`'s last window beyond it.
  int padded(int axis, int n) const {
    const auto a = static_cast<std::size_t>(axis);
    return std::max(n + padding[a] + after(a), covered(axis, outputs(axis, n)));
  }
};
ORIEL_API std::string to_string(const Windows& windows);

/// The tutorial's kernel: windows that do not overlap, the planes on partitions, everything at once.
ORIEL_API nl::tensor tensor_avgpool(const nl::tensor& in_tensor, int pool_size);
/// The same, but sums are kept in f32 until they are divided, so that a mean is rounded once.
ORIEL_API nl::tensor tensor_avgpool_precise(const nl::tensor& in_tensor, int pool_size);

// [p, h, w] -> [p, oh, ow]. The sums of averages are kept in f32 and rounded once.
ORIEL_API nl::tensor max_pool2d(const nl::tensor& x, const Windows& windows);
ORIEL_API nl::tensor avg_pool2d(const nl::tensor& x, const Windows& windows);

/// The maxima, and for each the tap of its window that has it, counted row by row, the first of equal ones, as f32. A
/// window without any tap (only padding) has the code -1. For windows without NaN: a NaN gets the code kernel_h *
/// kernel_w.
ORIEL_API std::vector<nl::tensor> max_pool2d_with_taps(const nl::tensor& x, const Windows& windows);

/// The gradient of max_pool2d: each gradient dy is added to the first maximum of its window (select and scatter). Terms
/// are added in the order of the taps. For windows without NaN. Bands consist of rows of the gradient (`rows`); windows
/// that cross a band's end are processed in both bands.
ORIEL_API nl::tensor max_pool2d_backward(const nl::tensor& x, const nl::tensor& dy, const Windows& windows);

/// [p, h, w] -> [p, oh, ow]: window o covers [floor(o*n/out), ceil((o+1)*n/out)); windows larger than SBUF are summed
/// in bands of rows.
ORIEL_API nl::tensor adaptive_avg_pool2d(const nl::tensor& x, int out_h, int out_w);

/// [p, d, h, w]: windows of k^3, one axis after the other, since a pattern has at most four free axes.
ORIEL_API nl::tensor max_pool3d(const nl::tensor& x, int kernel, int stride);

}  // namespace kernels

/// A shipped kernel with its name, for the command line: it is recorded for an input's meta and values of its
/// parameters.
struct ShippedKernel {
  std::string_view name, parameters, sentence;
  int rank;  // of its input
  /// `values` are by name; all except pool_size, kernel and output have a default. Throws Error for values and shapes
  /// that the kernel does not support.
  Program (*trace)(const nki::meta& x, const std::map<std::string, int>& values);
};
ORIEL_API std::span<const ShippedKernel> shipped_kernels();
/// The one with that name. Throws Error.
ORIEL_API const ShippedKernel& shipped_kernel(std::string_view name);

}  // namespace oriel::tile
