// The shipped kernels by name.
#include <array>

#include "oriel/tile/kernels.h"

namespace oriel::tile {
namespace {

using Given = std::map<std::string, int>;

int value(const Given& given, const std::string& name) {
  const auto found = given.find(name);
  if (found == given.end()) throw Error("tile: the kernel's parameter " + name + " must be given, but is not");
  return found->second;
}
int value_or(const Given& given, const std::string& name, int otherwise) {
  const auto found = given.find(name);
  return found == given.end() ? otherwise : found->second;
}

kernels::Windows windows(const Given& given) {
  const int kernel = value(given, "kernel");
  kernels::Windows w;
  w.kernel = {value_or(given, "kernel_h", kernel), value_or(given, "kernel_w", kernel)};
  const int stride = value_or(given, "stride", 0);
  w.stride = {stride > 0 ? stride : w.kernel[0], stride > 0 ? stride : w.kernel[1]};
  w.padding.fill(value_or(given, "padding", 0));
  w.dilation.fill(value_or(given, "dilation", 1));
  w.count_include_pad = value_or(given, "count_include_pad", 1) != 0;
  w.rows = value_or(given, "rows", 0);
  return w;
}

Program avgpool(const nki::meta& x, const Given& given) {
  return nki::jit("tensor_avgpool_kernel", kernels::tensor_avgpool).trace(x, value(given, "pool_size"));
}
Program avg2d(const nki::meta& x, const Given& given) {
  return nki::jit("avg_pool2d", kernels::avg_pool2d).trace(x, windows(given));
}
Program max2d(const nki::meta& x, const Given& given) {
  return nki::jit("max_pool2d", kernels::max_pool2d).trace(x, windows(given));
}
Program max2d_taps(const nki::meta& x, const Given& given) {
  return nki::jit("max_pool2d_with_taps", kernels::max_pool2d_with_taps).trace(x, windows(given));
}
Program max2d_backward(const nki::meta& x, const Given& given) {
  const kernels::Windows w = windows(given);
  const nki::meta dy{
      x.dtype, {x.shape[0], w.outputs(0, static_cast<int>(x.shape[1])), w.outputs(1, static_cast<int>(x.shape[2]))}};
  return nki::jit("max_pool2d_backward", kernels::max_pool2d_backward).trace(x, dy, w);
}
Program adaptive(const nki::meta& x, const Given& given) {
  const int out = value(given, "output");
  return nki::jit("adaptive_avg_pool2d", kernels::adaptive_avg_pool2d)
      .trace(x, value_or(given, "output_h", out), value_or(given, "output_w", out));
}
Program max3d(const nki::meta& x, const Given& given) {
  const int kernel = value(given, "kernel");
  return nki::jit("max_pool3d", kernels::max_pool3d).trace(x, kernel, value_or(given, "stride", kernel));
}

constexpr std::string_view kWindows = "kernel [kernel_h kernel_w stride padding dilation rows]";
constexpr std::array<ShippedKernel, 7> kShipped = {{
    {"tensor_avgpool_kernel", "pool_size", "the tutorial's average pool", 3, avgpool},
    {"avg_pool2d", "kernel [kernel_h kernel_w stride padding dilation rows count_include_pad]",
     "averages, any windows, any number of planes, bands of rows", 3, avg2d},
    {"max_pool2d", kWindows, "maxima, any windows, any number of planes, bands of rows", 3, max2d},
    {"max_pool2d_with_taps", kWindows, "maxima and which tap of the window each is", 3, max2d_taps},
    {"max_pool2d_backward", kWindows, "the gradient of max_pool2d, by select and scatter", 3, max2d_backward},
    {"adaptive_avg_pool2d", "output [output_h output_w]", "averages to a given output size", 3, adaptive},
    {"max_pool3d", "kernel [stride]", "maxima of volumes, one axis after the other", 4, max3d},
}};

}  // namespace

std::span<const ShippedKernel> shipped_kernels() { return kShipped; }

}  // namespace oriel::tile
