// The shipped kernels by name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "oriel/tile/kernels.h"

namespace oriel::tile {
namespace {

using Given = std::map<std::string, int>;

[[noreturn]] void fail(std::string_view kernel, std::string argument, std::string allowed, std::string value) {
  throw Error(Error::Fields{.function = std::string(kernel),
                            .argument = std::move(argument),
                            .allowed = std::move(allowed),
                            .value = std::move(value)});
}

int value(const Given& given, const std::string& name) {
  const auto found = given.find(name);
  if (found == given.end()) throw Error("tile: the kernel's parameter " + name + " must be given, but is not");
  return found->second;
}
int value_or(const Given& given, const std::string& name, int otherwise) {
  const auto found = given.find(name);
  return found == given.end() ? otherwise : found->second;
}

int at_least(std::string_view kernel, std::string_view parameter, int least, int value) {
  if (value < least) {
    fail(kernel, std::string(parameter), fmt::format("must be >= {}", least), fmt::format("is {}", value));
  }
  return value;
}

// Extents become ints, and tiles have no empty axis.
void check_input(std::string_view kernel, const nki::meta& x, int rank) {
  if (x.shape.size() != rank) {
    fail(kernel, "x", fmt::format("must have {} axes", rank), fmt::format("has {}", x.shape.size()));
  }
  for (const index_t n : x.shape) {
    if (n < 1 || n > INT_MAX) {
      fail(kernel, "x", fmt::format("must have extents of 1 to {}", INT_MAX), "has " + to_string(x.shape));
    }
  }
}

// `stride`, and for one axis `stride_h` or `stride_w`.
std::array<int, 2> pair(std::string_view kernel, const Given& given, const std::string& name, int least,
                        const std::array<int, 2>& otherwise) {
  std::array<int, 2> out{};
  for (std::size_t a = 0; a < 2; ++a) {
    const int both = value_or(given, name, otherwise[a]);
    out[a] = at_least(kernel, name, least, value_or(given, name + (a == 0 ? "_h" : "_w"), both));
  }
  return out;
}

std::array<int, 2> needed_pair(std::string_view kernel, const Given& given, const std::string& name) {
  const bool has_both = given.contains(name + "_h") && given.contains(name + "_w");
  const int both = has_both ? 1 : value(given, name);
  return pair(kernel, given, name, 1, {both, both});
}

kernels::Windows windows(std::string_view kernel, const nki::meta& x, const Given& given) {
  check_input(kernel, x, 3);
  kernels::Windows w;
  w.kernel = needed_pair(kernel, given, "kernel");
  w.stride = pair(kernel, given, "stride", 1, w.kernel);
  w.padding = pair(kernel, given, "padding", 0, {0, 0});
  w.padding_after = pair(kernel, given, "padding_after", 0, w.padding);
  if (w.padding_after == w.padding) w.padding_after = {-1, -1};
  w.ceil_mode = value_or(given, "ceil_mode", 0) != 0;
  w.dilation = pair(kernel, given, "dilation", 1, {1, 1});
  w.count_include_pad = value_or(given, "count_include_pad", 1) != 0;
  w.rows = at_least(kernel, "rows", 0, value_or(given, "rows", 0));
  for (std::size_t a = 0; a < 2; ++a) {
    const index_t covers = index_t{w.dilation[a]} * (w.kernel[a] - 1) + 1;
    const index_t padded = x.shape[static_cast<int>(a) + 1] + index_t{w.padding[a]} + w.after(a);
    const char* what = a == 0 ? "rows" : "columns";
    constexpr int most = INT_MAX / 2;  // so that what a last window hangs over is an int too
    if (padded > most) {
      fail(kernel, "the padded input", fmt::format("must have at most {} {}", most, what),
           fmt::format("has {}", padded));
    }
    if (covers > padded) {
      fail(kernel, "a window", "must fit the padded input", fmt::format("covers {} of {} {}", covers, padded, what));
    }
  }
  if (index_t{w.kernel[0]} * w.kernel[1] > INT_MAX) {
    fail(kernel, "a window", fmt::format("must have at most {} taps", INT_MAX),
         fmt::format("has {}x{}", w.kernel[0], w.kernel[1]));
  }
  return w;
}

Program avgpool(const nki::meta& x, const Given& given) {
  constexpr std::string_view name = "tensor_avgpool_kernel";
  check_input(name, x, 3);
  const int pool_size = value(given, "pool_size");
  const index_t most = std::min({x.shape[1], x.shape[2], index_t{46340}});  // the square is an int
  if (pool_size < 1 || pool_size > most) {
    fail(name, "pool_size", fmt::format("must be 1 to {} for {}", most, to_string(x.shape)),
         fmt::format("is {}", pool_size));
  }
  if (value_or(given, "precise", 0) != 0)
    return nki::jit("tensor_avgpool_precise", kernels::tensor_avgpool_precise).trace(x, pool_size);
  return nki::jit(std::string(name), kernels::tensor_avgpool).trace(x, pool_size);
}
Program avg2d(const nki::meta& x, const Given& given) {
  return nki::jit("avg_pool2d", kernels::avg_pool2d).trace(x, windows("avg_pool2d", x, given));
}
Program max2d(const nki::meta& x, const Given& given) {
  return nki::jit("max_pool2d", kernels::max_pool2d).trace(x, windows("max_pool2d", x, given));
}
Program max2d_taps(const nki::meta& x, const Given& given) {
  return nki::jit("max_pool2d_with_taps", kernels::max_pool2d_with_taps)
      .trace(x, windows("max_pool2d_with_taps", x, given));
}
Program max2d_backward(const nki::meta& x, const Given& given) {
  const kernels::Windows w = windows("max_pool2d_backward", x, given);
  const nki::meta dy{
      x.dtype, {x.shape[0], w.outputs(0, static_cast<int>(x.shape[1])), w.outputs(1, static_cast<int>(x.shape[2]))}};
  return nki::jit("max_pool2d_backward", kernels::max_pool2d_backward).trace(x, dy, w);
}
Program adaptive(const nki::meta& x, const Given& given) {
  check_input("adaptive_avg_pool2d", x, 3);
  const auto [h, w] = needed_pair("adaptive_avg_pool2d", given, "output");
  return nki::jit("adaptive_avg_pool2d", kernels::adaptive_avg_pool2d).trace(x, h, w);
}
Program max3d(const nki::meta& x, const Given& given) {
  check_input("max_pool3d", x, 4);
  const int kernel = at_least("max_pool3d", "kernel", 1, value(given, "kernel"));
  for (int d = 1; d < 4; ++d) {
    if (kernel > x.shape[d]) {
      fail("max_pool3d", "kernel", fmt::format("must be at most {}, an extent of {}", x.shape[d], to_string(x.shape)),
           fmt::format("is {}", kernel));
    }
  }
  const int stride = at_least("max_pool3d", "stride", 1, value_or(given, "stride", kernel));
  return nki::jit("max_pool3d", kernels::max_pool3d).trace(x, kernel, stride);
}

constexpr std::string_view kWindows =
    "kernel [stride padding padding_after dilation; each also as NAME_h, NAME_w; rows ceil_mode]";
constexpr std::array<ShippedKernel, 7> kShipped = {{
    {"tensor_avgpool_kernel", "pool_size [precise]", "the tutorial's average pool", 3, avgpool},
    {"avg_pool2d",
     "kernel [stride padding padding_after dilation; each also as NAME_h, NAME_w; rows ceil_mode count_include_pad]",
     "averages, any windows, any number of planes, bands of rows", 3, avg2d},
    {"max_pool2d", kWindows, "maxima, any windows, any number of planes, bands of rows", 3, max2d},
    {"max_pool2d_with_taps", kWindows, "maxima and which tap of the window each is", 3, max2d_taps},
    {"max_pool2d_backward", kWindows, "the gradient of max_pool2d, by select and scatter", 3, max2d_backward},
    {"adaptive_avg_pool2d", "output [output_h output_w]", "averages to a given output size", 3, adaptive},
    {"max_pool3d", "kernel [stride]", "maxima of volumes, one axis after the other", 4, max3d},
}};

}  // namespace

std::span<const ShippedKernel> shipped_kernels() { return kShipped; }

const ShippedKernel& shipped_kernel(std::string_view name) {
  for (const ShippedKernel& k : kShipped)
    if (k.name == name) return k;
  throw Error(fmt::format("tile: there must be a kernel of that name, but '{}' is none", name.substr(0, 40)));
}

}  // namespace oriel::tile
