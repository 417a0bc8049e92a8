#include "apps/portrait/image/resize.h"

#include <algorithm>
#include <cmath>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/rows.h"

namespace oriel::portrait {

Between::Between(index_t in, index_t out, index_t samples)
    : at(static_cast<std::size_t>(out)), weight(static_cast<std::size_t>(out)) {
  const double step =
      samples > 0 ? 1 / static_cast<double>(samples) : static_cast<double>(in) / static_cast<double>(out);
  for (index_t o = 0; o < out; ++o) {
    const double last = static_cast<double>(in - 1);
    const double place = std::clamp((static_cast<double>(o) + 0.5) * step - 0.5, 0.0, last);
    const double floor = std::min(std::floor(place), std::max(last - 1, 0.0));
    at[static_cast<std::size_t>(o)] = static_cast<index_t>(floor);
    weight[static_cast<std::size_t>(o)] = static_cast<float>(place - floor);
  }
}

Enlarged::Enlarged(const Planes& planes, index_t height, index_t width, index_t step)
    : planes_(planes), down_(planes.height, height, step), across_(planes.width, width, step) {}

void Enlarged::row(index_t plane, index_t y, float* out) const {
  const auto o = static_cast<std::size_t>(y);
  const index_t above = down_.at[o], below = std::min(above + 1, planes_.height - 1);
  const float* const first = planes_.row(plane, above);
  const float* const second = planes_.row(plane, below);
  thread_local std::vector<float> between;
  const auto wide = static_cast<std::size_t>(planes_.width);
  between.resize(wide + 1);
  const float w = down_.weight[o];
  float* const row = between.data();
  for (std::size_t i = 0; i < wide; ++i) row[i] = first[i] + w * (second[i] - first[i]);
  row[wide] = row[wide - 1];
  const index_t* const at = across_.at.data();
  const float* const weight = across_.weight.data();
  const std::size_t count = across_.at.size();
  for (std::size_t x = 0; x < count; ++x) {
    const float* const pair = row + at[x];
    out[x] = pair[0] + weight[x] * (pair[1] - pair[0]);
  }
}

float Enlarged::value(index_t plane, index_t y, index_t x) const {
  const auto o = static_cast<std::size_t>(y), p = static_cast<std::size_t>(x);
  const index_t above = down_.at[o], left = across_.at[p];
  const float* const first = planes_.row(plane, above);
  const float* const second = planes_.row(plane, std::min(above + 1, planes_.height - 1));
  const index_t right = std::min(left + 1, planes_.width - 1);
  const float a = first[left] + down_.weight[o] * (second[left] - first[left]);
  const float b = first[right] + down_.weight[o] * (second[right] - first[right]);
  return a + across_.weight[p] * (b - a);
}

Planes resized(const Planes& x, index_t height, index_t width, int threads) {
  const Planes least = smaller(x, std::min(x.height, height), std::min(x.width, width), threads);
  if (least.height == height && least.width == width) return least;
  Planes y = Planes::unfilled(x.count, height, width);
  const Enlarged rows(least, height, width);
  for_rows(x.count * height, threads, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) rows.row(i / height, i % height, y.row(i / height, i % height));
  });
  return y;
}

Image resized(const Image& x, index_t height, index_t width, int threads) {
  Image least = smaller(x, std::min(x.height, height), std::min(x.width, width), threads);
  if (least.height == height && least.width == width) return least;
  Image y(height, width, x.channels);
  const Between down(least.height, height), across(least.width, width);
  for_rows(height, threads, [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      const auto o = static_cast<std::size_t>(r);
      const std::uint8_t* const first = least.row(down.at[o]);
      const std::uint8_t* const second = least.row(std::min(down.at[o] + 1, least.height - 1));
      std::uint8_t* out = y.row(r);
      for (std::size_t c = 0; c < across.at.size(); ++c) {
        const index_t left = across.at[c] * x.channels;
        const index_t right = std::min(across.at[c] + 1, least.width - 1) * x.channels;
        for (index_t k = 0; k < x.channels; ++k) {
          const float top = static_cast<float>(first[left + k]) +
                            across.weight[c] * static_cast<float>(first[right + k] - first[left + k]);
          const float bottom = static_cast<float>(second[left + k]) +
                               across.weight[c] * static_cast<float>(second[right + k] - second[left + k]);
          *out++ = static_cast<std::uint8_t>(top + down.weight[o] * (bottom - top) + 0.5F);
        }
      }
    }
  });
  return y;
}

Planes colours_of(const Image& image, int threads) {
  Planes y = Planes::unfilled(3, image.height, image.width);
  for_rows(image.height, threads, [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      const std::uint8_t* in = image.row(r);
      float* const red = y.row(0, r);
      float* const green = y.row(1, r);
      float* const blue = y.row(2, r);
      for (index_t x = 0; x < image.width; ++x, in += image.channels) {
        red[x] = static_cast<float>(in[0]) / 255.0F;
        green[x] = static_cast<float>(in[1]) / 255.0F;
        blue[x] = static_cast<float>(in[2]) / 255.0F;
      }
    }
  });
  return y;
}

}  // namespace oriel::portrait
