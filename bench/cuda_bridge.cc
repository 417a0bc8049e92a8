// The entry points as C functions, for bench/gpu.py, which has ctypes and no binding where only nvcc is: problems by
// name, device pointers, a stream. 0: done; else the error's text is in `error`.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "oriel/pool.h"

namespace {

void copy(std::string_view from, char* to, int room) {
  if (room <= 0) return;
  const std::size_t n = std::min(from.size(), static_cast<std::size_t>(room) - 1);
  std::memcpy(to, from.data(), n);
  to[n] = '\0';
}

template <class F>
int guarded(char* error, int room, F f) {
  try {
    f();
    return 0;
  } catch (const std::exception& e) {
    copy(e.what(), error, room);
    return 1;
  }
}

oriel::Tensor view(void* data, oriel::Dtype dtype, const oriel::Extents& shape, const oriel::Extents& order) {
  return {data, dtype, shape, oriel::dense_pitch(shape, order), oriel::Device::cuda};
}

template <class List>
std::string list(const List& values) {
  std::string text = "[";
  for (const oriel::index_t v : values) text += (text.size() > 1 ? ", " : "") + std::to_string(v);
  return text + "]";
}

std::string describe(const oriel::Problem& p) {
  oriel::Extents axes, kernel, stride, before, dilation;
  for (int a = 0; a < p.pooled; ++a) {
    const oriel::Axis& axis = p.axis[static_cast<std::size_t>(a)];
    axes.push_back(p.axes[static_cast<std::size_t>(a)]);
    kernel.push_back(axis.kernel);
    stride.push_back(axis.stride);
    before.push_back(-axis.start(0));
    dilation.push_back(axis.dilation);
  }
  const auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
  const oriel::Pool& pool = p.pool;
  return "{\"op\": \"" + std::string(name(pool.op)) + "\", \"dtype\": \"" + std::string(name(p.dtype)) +
         "\", \"kind\": " + std::to_string(static_cast<int>(pool.windows.kind)) + ", \"shape\": " + list(p.shape) +
         ", \"out\": " + list(p.output_shape) + ", \"axes\": " + list(axes) + ", \"order\": " + list(p.order) +
         ", \"kernel\": " + list(kernel) + ", \"stride\": " + list(stride) + ", \"before\": " + list(before) +
         ", \"dilation\": " + list(dilation) + ", \"ceil\": " + flag(pool.windows.ceil_mode) +
         ", \"same\": " + flag(pool.windows.padding != oriel::Padding::given) +
         ", \"include\": " + flag(pool.count_include_pad) + ", \"divisor\": " + std::to_string(pool.divisor) +
         ", \"omit\": " + flag(pool.nan == oriel::NanPolicy::omit) + ", \"indices\": " + flag(p.indices) +
         ", \"backward\": " + flag(p.direction == oriel::Direction::backward) + "}";
}

}  // namespace

extern "C" {

/// What a name means, as JSON with one value for each pooled axis: so that Python needs no parser of names.
ORIEL_API int oriel_cuda_describe(const char* name, char* text, int room) {
  std::string json;
  const int failed = guarded(text, room, [&] { json = describe(oriel::parse_problem(name)); });
  return failed != 0 ? failed : guarded(text, room, [&] { copy(json, text, room); });
}

/// `indices`: int64, or null.
ORIEL_API int oriel_cuda_forward(const char* name, void* x, void* y, void* indices, void* stream, char* error,
                                 int room) {
  return guarded(error, room, [&] {
    const oriel::Problem p = oriel::parse_problem(name);
    const oriel::Tensor in = view(x, p.dtype, p.shape, p.order), out = view(y, p.dtype, p.output_shape, p.order);
    if (indices == nullptr) return oriel::forward(p, {.x = in, .y = out}, {.stream = stream});
    oriel::forward(p, {.x = in, .y = out, .indices = view(indices, oriel::Dtype::i64, p.output_shape, p.order)},
                   {.stream = stream});
  });
}

ORIEL_API int oriel_cuda_backward(const char* name, void* x, void* dy, void* dx, void* stream, char* error, int room) {
  return guarded(error, room, [&] {
    const oriel::Problem p = oriel::parse_problem(name);
    oriel::backward(p,
                    {.x = view(x, p.dtype, p.shape, p.order),
                     .dy = view(dy, p.dtype, p.output_shape, p.order),
                     .dx = view(dx, p.dtype, p.shape, p.order)},
                    {.stream = stream});
  });
}

}  // extern "C"
