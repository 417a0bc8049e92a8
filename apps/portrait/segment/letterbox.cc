#include "apps/portrait/segment/letterbox.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/portrait/image/resize.h"

namespace oriel::portrait {
namespace {

constexpr index_t kMultiple = 16;  // a U-Net of five levels halves its input four times

// The side of the canvas that `side` takes when `full` takes `canvas`, rounded; at least 1.
index_t scaled(index_t side, index_t full, index_t canvas) {
  return std::clamp<index_t>((2 * side * canvas + full) / (2 * full), 1, canvas);
}

}  // namespace

Letterbox fit_letterbox(index_t image_height, index_t image_width, index_t height, index_t width) {
  if (image_height < 1 || image_width < 1)
    throw Error(fmt::format("letterbox: the image has {}x{} pixels; allowed: at least 1x1", image_width, image_height));
  if (height < kMultiple || width < kMultiple || height % kMultiple != 0 || width % kMultiple != 0)
    throw Error(
        fmt::format("letterbox: the network's size is {}x{}; allowed: multiples of {}", width, height, kMultiple));
  Letterbox box{.height = height, .width = width, .inner_height = height, .inner_width = width};
  if (image_width * height >= image_height * width)
    box.inner_height = std::min(scaled(image_height, image_width, width), height);
  else
    box.inner_width = std::min(scaled(image_width, image_height, height), width);
  box.top = (height - box.inner_height) / 2;
  box.left = (width - box.inner_width) / 2;
  return box;
}

Planes into_letterbox(const Image& image, const Letterbox& box, int threads) {
  const Planes inner = colours_of(resized(image, box.inner_height, box.inner_width, threads), 1);
  Planes canvas(3, box.height, box.width);
  for (index_t c = 0; c < 3; ++c)
    for (index_t y = 0; y < box.inner_height; ++y) {
      const float* const in = inner.row(c, y);
      std::copy(in, in + box.inner_width, canvas.row(c, box.top + y) + box.left);
    }
  return canvas;
}

Planes out_of_letterbox(const Planes& canvas, const Letterbox& box) {
  Planes inner(canvas.count, box.inner_height, box.inner_width);
  for (index_t c = 0; c < canvas.count; ++c)
    for (index_t y = 0; y < box.inner_height; ++y) {
      const float* const in = canvas.row(c, box.top + y) + box.left;
      std::copy(in, in + box.inner_width, inner.row(c, y));
    }
  return inner;
}

}  // namespace oriel::portrait
