// Pooling in two dimensions, in the tile language.
#include "oriel/tile/kernels.h"

#include <algorithm>
#include <limits>

namespace oriel::tile::kernels {
namespace {

constexpr index_t kPartitionBytes = 180224;  // what the smallest machine lets a kernel use of a partition

int extent(const nl::tensor& t, std::size_t d) { return static_cast<int>(t.shape()[d]); }
double lowest() { return -std::numeric_limits<double>::infinity(); }

// A band of output rows and the input rows that it reads, padding among them.
struct Band {
  int first, rows;   // outputs
  int top, in_rows;  // of the padded input: from row `top` (may be negative) on
  int from, to;      // the rows among those that exist
};

class Bands {
 public:
  Bands(const Windows& w, int height, int width, index_t itemsize, index_t tiles_per_input)
      : w_(w), height_(height), out_(w.outputs(0, height)) {
    const index_t row = w.padded(1, width) * itemsize * tiles_per_input;
    rows_ = w.rows;
    if (rows_ == 0) {
      rows_ = out_;
      while (rows_ > 1 && (w_.covered(0, rows_) + rows_) * row > kPartitionBytes) rows_ = (rows_ + 1) / 2;
    }
  }
  std::vector<Band> list() const {
    std::vector<Band> out;
    for (int first = 0; first < out_; first += rows_) {
      const int rows = std::min(rows_, out_ - first);
      const int top = first * w_.stride[0] - w_.padding[0], n = w_.covered(0, rows);
      out.push_back({first, rows, top, n, std::max(0, top), std::min(height_, top + n)});
    }
    return out;
  }

 private:
  const Windows& w_;
  int height_, out_, rows_ = 0;
};

// The planes [p0, p0 + 128) that exist, loaded into a tile with the padding around; what is padding has `fill`.
nl::tensor load_band(const nl::tensor& x, const nl::index& p0, int partitions, const Band& band, const Windows& w,
                     double fill) {
  const int planes = extent(x, 0), width = extent(x, 2), wide = w.padded(1, width);
  auto [p, i, j] = nl::mgrid(partitions, std::max(1, band.to - band.from), width);
  const nl::mask exists = planes % partitions == 0 ? nl::mask() : p0 + p < planes;
  const nl::tensor part = x[{p0 + p, band.from + i, j}];
  if (wide == width && band.from == band.top && band.to == band.top + band.in_rows)
    return nl::load(part, {.mask = exists});
  auto t = nl::full({partitions, band.in_rows, wide}, fill, {.dtype = x.dtype()});
  if (band.to > band.from) t[{p, band.from - band.top + i, j + w.padding[1]}] = nl::load(part, {.mask = exists});
  return t;
}

// The windows of a tile: [partitions, rows, columns, kernel_h, kernel_w].
nl::tensor windows_of(const nl::tensor& t, int partitions, int rows, int columns, const Windows& w) {
  auto [p, i, j, y, z] = nl::mgrid(partitions, rows, columns, w.kernel[0], w.kernel[1]);
  return t[{p, w.stride[0] * i + w.dilation[0] * y, w.stride[1] * j + w.dilation[1] * z}];
}

void store_band(const nl::tensor& out, const nl::index& p0, int partitions, const Band& band, const nl::tensor& value) {
  const int planes = extent(out, 0);
  auto [p, i, j] = nl::mgrid(partitions, band.rows, extent(out, 2));
  const nl::mask exists = planes % partitions == 0 ? nl::mask() : p0 + p < planes;
  nl::store(out[{p0 + p, band.first + i, j}], {.value = value, .mask = exists});
}

int partitions_of(const nl::tensor& x) { return std::min(extent(x, 0), nl::tile_size.pmax); }

nl::tensor output_of(const nl::tensor& x, const Windows& w, Dtype dtype) {
  return nl::ndarray({extent(x, 0), w.outputs(0, extent(x, 1)), w.outputs(1, extent(x, 2))},
                     {.dtype = dtype, .buffer = nl::shared_hbm});
}

}  // namespace

std::string to_string(const Windows& w) {
  const auto pair = [](const char* letter, const std::array<int, 2>& v) {
    return letter + std::to_string(v[0]) + "x" + std::to_string(v[1]);
  };
  return pair("k", w.kernel) + pair("s", w.stride) + pair("p", w.padding) + pair("d", w.dilation) +
         (w.padding_after == std::array{-1, -1} ? "" : pair(" after ", w.padding_after)) +
         (w.ceil_mode ? " ceil" : "") + (w.count_include_pad ? "" : " exclude") +
         (w.rows > 0 ? " rows " + std::to_string(w.rows) : "");
}

namespace {

// `sums`: the dtype that the windows' sums are rounded to before they are divided.
nl::tensor square_means(const nl::tensor& in_tensor, int pool_size, Dtype sums) {
  auto [sz_cin, sz_hin, sz_win] = in_tensor.shape<3>();
  const int sz_hout = sz_hin / pool_size, sz_wout = sz_win / pool_size;
  auto out_tensor = nl::ndarray({sz_cin, sz_hout, sz_wout}, {.dtype = in_tensor.dtype(), .buffer = nl::shared_hbm});
  auto [i0, i1, i2, i3, i4] = nl::mgrid(sz_cin, sz_hout, pool_size, sz_wout, pool_size);
  auto in_tile = nl::load(in_tensor).named("in_tile");
  auto out_tile = nl::sum(in_tile[{i0, pool_size * i1 + i2, pool_size * i3 + i4}], {.axis = {2, 4}, .dtype = sums}) /
                  (pool_size * pool_size);
  nl::store(out_tensor, {.value = out_tile.named("out_tile")});
  return out_tensor;
}

}  // namespace

nl::tensor tensor_avgpool(const nl::tensor& in_tensor, int pool_size) {
  return square_means(in_tensor, pool_size, in_tensor.dtype());
}

nl::tensor tensor_avgpool_precise(const nl::tensor& in_tensor, int pool_size) {
  return square_means(in_tensor, pool_size, nl::float32);
}

nl::tensor max_pool2d(const nl::tensor& x, const Windows& w) {
  auto out = output_of(x, w, x.dtype());
  const int n = partitions_of(x), columns = extent(out, 2);
  for (auto p0 : nl::affine_range(0, extent(x, 0), n)) {
    for (const Band& band : Bands(w, extent(x, 1), extent(x, 2), size_bytes(x.dtype()), 1).list()) {
      auto t = load_band(x, p0, n, band, w, lowest());
      store_band(out, p0, n, band, nl::max(windows_of(t, n, band.rows, columns, w), {.axis = {3, 4}}));
    }
  }
  return out;
}

nl::tensor avg_pool2d(const nl::tensor& x, const Windows& w) {
  auto out = output_of(x, w, x.dtype());
  const int n = partitions_of(x), columns = extent(out, 2);
  const int height = extent(x, 1), width = extent(x, 2), wide = w.padded(1, width);
  // What counts in a divisor: existing columns, or those of the padding too; what a window hangs over never does.
  const int left = w.count_include_pad ? 0 : w.padding[1];
  const int right = w.padding[1] + width + (w.count_include_pad ? w.after(1) : 0);
  const int above = w.count_include_pad ? -w.padding[0] : 0, below = height + (w.count_include_pad ? w.after(0) : 0);
  const int tall = w.covered(0, extent(out, 1)) - w.padding[0];
  const bool counts = left > 0 || right < w.covered(1, columns) || above > -w.padding[0] || below < tall;
  for (auto p0 : nl::affine_range(0, extent(x, 0), n)) {
    for (const Band& band : Bands(w, height, width, 4, counts ? 2 : 1).list()) {
      auto t = load_band(x, p0, n, band, w, 0);
      auto sums = nl::sum(windows_of(t, n, band.rows, columns, w), {.axis = {3, 4}, .dtype = nl::float32});
      if (!counts) {
        store_band(out, p0, n, band, nl::divide(sums, w.kernel[0] * w.kernel[1], {.dtype = x.dtype()}));
        continue;
      }
      auto ones = nl::zeros({n, band.in_rows, wide}, {.dtype = nl::uint8});
      const int from = std::max(band.top, above), to = std::min(band.top + band.in_rows, below);
      if (to > from)
        ones[{nl::all, nl::ds(from - band.top, to - from), nl::ds(left, right - left)}] =
            nl::full({n, to - from, right - left}, 1, {.dtype = nl::uint8});
      auto taps = nl::sum(windows_of(ones, n, band.rows, columns, w), {.axis = {3, 4}, .dtype = nl::float32});
      if (!w.count_include_pad) taps = nl::maximum(taps, 1);  // a window without any tap: 0 (S6)
      store_band(out, p0, n, band, nl::divide(sums, taps, {.dtype = x.dtype()}));
    }
  }
  return out;
}

namespace {

struct Places {
  nl::tensor maxima, taps;
};

// Whether a window along the axis may begin before the input, or end after it.
bool leaves_input(const Windows& w, std::size_t a, int n) {
  const int axis = static_cast<int>(a);
  return w.padding[a] > 0 || w.covered(axis, w.outputs(axis, n)) - w.padding[a] > n;
}

// Whether a window along the axis has no tap at all.
bool lacks_taps(const Windows& w, std::size_t a, int n) {
  for (int o = 0; o < w.outputs(static_cast<int>(a), n); ++o) {
    int taps = 0;
    for (int t = 0; t < w.kernel[a]; ++t) {
      const int i = o * w.stride[a] - w.padding[a] + t * w.dilation[a];
      taps += i >= 0 && i < n ? 1 : 0;
    }
    if (taps == 0) return true;
  }
  return false;
}

// Maxima and their taps, for a band's tile. A tap is equal to the maximum, by code: the least code is the first. What
// is padding is no tap, whatever its value.
Places places_of(const nl::tensor& t, int partitions, const Band& band, int height, int width, int columns,
                 const Windows& w) {
  const auto windows = windows_of(t, partitions, band.rows, columns, w);
  const Values& s = windows.shape();
  auto maxima = nl::max(windows, {.axis = {3, 4}});
  auto [p, i, j, y, z] = nl::mgrid(s[0], s[1], s[2], s[3], s[4]);
  auto hit = nl::equal(windows, nl::tensor(maxima[{p, i, j}]));
  const bool is_padded = leaves_input(w, 0, height) || leaves_input(w, 1, width);
  nl::tensor exists;
  if (is_padded) {
    auto inside = nl::zeros({partitions, band.in_rows, w.padded(1, width)}, {.dtype = nl::uint8});
    if (band.to > band.from)
      inside[{nl::all, nl::ds(band.from - band.top, band.to - band.from), nl::ds(w.padding[1], width)}] =
          nl::full({partitions, band.to - band.from, width}, 1, {.dtype = nl::uint8});
    exists = windows_of(inside, partitions, band.rows, columns, w);
    hit = nl::multiply(hit, exists);
  }
  auto codes = nl::where(hit, nl::iota(w.kernel[1] * y + z, nl::float32), w.kernel[0] * w.kernel[1] * 1.0);
  auto taps = nl::min(codes, {.axis = {3, 4}});
  if (is_padded && (lacks_taps(w, 0, height) || lacks_taps(w, 1, width)))
    taps = nl::where(nl::max(exists, {.axis = {3, 4}}), taps, -1.0);
  return {maxima, taps};
}

}  // namespace

std::vector<nl::tensor> max_pool2d_with_taps(const nl::tensor& x, const Windows& w) {
  auto out = output_of(x, w, x.dtype()), taps = output_of(x, w, nl::float32);
  const int n = partitions_of(x), columns = extent(out, 2), height = extent(x, 1), width = extent(x, 2);
  const index_t work = 3 * w.kernel[0] * w.kernel[1];  // tiles of a window's taps for each output
  for (auto p0 : nl::affine_range(0, extent(x, 0), n)) {
    for (const Band& band : Bands(w, height, width, 4, work).list()) {
      auto t = load_band(x, p0, n, band, w, lowest());
      const Places places = places_of(t, n, band, height, width, columns, w);
      store_band(out, p0, n, band, places.maxima);
      store_band(taps, p0, n, band, places.taps);
    }
  }
  return {out, taps};
}

namespace {

// The windows that have a tap in rows [first, last] of the input; none: `rows` is 0.
Band windows_over(const Windows& w, int height, int outputs, int first, int last) {
  const int reach = w.dilation[0] * (w.kernel[0] - 1);
  const int above = first + w.padding[0] - reach;
  const int from = above <= 0 ? 0 : (above + w.stride[0] - 1) / w.stride[0];
  const int to = std::min(outputs - 1, (last + w.padding[0]) / w.stride[0]);
  Band band{from, std::max(0, to - from + 1), from * w.stride[0] - w.padding[0], 0, 0, 0};
  if (band.rows == 0) return band;
  band.in_rows = w.covered(0, band.rows);
  band.from = std::max(0, band.top);
  band.to = std::min(height, band.top + band.in_rows);
  return band;
}

// Rows of the gradient for which everything that its windows need fits the smallest machine.
int gradient_rows(const Windows& w, int height, int width, int columns) {
  if (w.rows > 0) return w.rows;
  const index_t taps = index_t{w.kernel[0]} * w.kernel[1], wide = w.padded(1, width);
  const int reach = w.dilation[0] * (w.kernel[0] - 1);
  int rows = height;
  const auto bytes = [&] {
    const index_t outputs = std::min(w.outputs(0, height), (rows + reach) / w.stride[0] + 1);
    const index_t inputs = (outputs - 1) * w.stride[0] + reach + 1;
    return inputs * wide * 9 + outputs * columns * (taps * 11 + 20);  // x, sums, what exists; codes, hits, and the rest
  };
  while (rows > 1 && bytes() > kPartitionBytes) rows = (rows + 1) / 2;
  return rows;
}

}  // namespace

nl::tensor max_pool2d_backward(const nl::tensor& x, const nl::tensor& dy, const Windows& w) {
  auto [planes, height, width] = x.shape<3>();
  auto dx = nl::ndarray({planes, height, width}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
  const int n = partitions_of(x), columns = extent(dy, 2), step = gradient_rows(w, height, width, columns);
  for (auto p0 : nl::affine_range(0, planes, n)) {
    for (int first = 0; first < height; first += step) {
      const int rows = std::min(step, height - first);
      auto [q, r, c] = nl::mgrid(n, rows, width);
      const nl::mask inside = planes % n == 0 ? nl::mask() : p0 + q < planes;
      const nl::tensor target = dx[{p0 + q, first + r, c}];
      const Band band = windows_over(w, height, extent(dy, 1), first, first + rows - 1);
      if (band.rows == 0) {  // between windows
        nl::store(target, {.value = 0, .mask = inside});
        continue;
      }
      auto t = load_band(x, p0, n, band, w, lowest());
      auto [p, i, j] = nl::mgrid(n, band.rows, columns);
      const nl::mask exists = planes % n == 0 ? nl::mask() : p0 + p < planes;
      auto gradient = nl::load(dy[{p0 + p, band.first + i, j}], {.mask = exists});
      const Places places = places_of(t, n, band, height, width, columns, w);
      // Rows of windows and of this band: windows reach over both its ends, and need not reach them.
      const int top = std::min(band.top, first);
      const int bottom = std::max(band.top + band.in_rows, first + rows);
      auto sums = nl::zeros({n, bottom - top, w.padded(1, width)});
      for (int tap = 0; tap < w.kernel[0] * w.kernel[1]; ++tap) {
        const int y = band.top - top + tap / w.kernel[1] * w.dilation[0], z = tap % w.kernel[1] * w.dilation[1];
        auto here = sums[{p, w.stride[0] * i + y, w.stride[1] * j + z}];
        here = here + nl::where(nl::equal(places.taps, tap), gradient, 0);
      }
      nl::store(target, {.value = nl::tensor(sums[{q, first - top + r, c + w.padding[1]}]), .mask = inside});
    }
  }
  return dx;
}

nl::tensor adaptive_avg_pool2d(const nl::tensor& x, int out_h, int out_w) {
  auto [planes, height, width] = x.shape<3>();
  auto out = nl::ndarray({planes, out_h, out_w}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
  const int n = partitions_of(x);
  for (auto p0 : nl::affine_range(0, planes, n)) {
    auto means = nl::ndarray({n, out_h, out_w}, {.dtype = x.dtype()});
    for (int o = 0; o < out_h * out_w; ++o) {
      const int i = o / out_w, j = o % out_w;
      const int top = i * height / out_h, bottom = ((i + 1) * height + out_h - 1) / out_h;
      const int left = j * width / out_w, right = ((j + 1) * width + out_w - 1) / out_w;
      const int columns = right - left;
      const int most = std::max(1, static_cast<int>(kPartitionBytes / 2 / size_bytes(x.dtype()) / columns));
      nl::tensor total;
      for (int row = top; row < bottom; row += most) {  // a window may be larger than SBUF
        auto [p, y, z] = nl::mgrid(n, std::min(most, bottom - row), columns);
        const nl::mask exists = planes % n == 0 ? nl::mask() : p0 + p < planes;
        auto part = nl::sum(nl::load(x[{p0 + p, row + y, left + z}], {.mask = exists}),
                            {.axis = {1, 2}, .dtype = nl::float32, .keepdims = true});
        total = row == top ? part : total + part;
      }
      means[{nl::all, nl::ds(i, 1), nl::ds(j, 1)}] = nl::divide(total, (bottom - top) * columns, {.dtype = x.dtype()});
    }
    auto [p, i, j] = nl::mgrid(n, out_h, out_w);
    nl::store(out[{p0 + p, i, j}], {.value = means, .mask = planes % n == 0 ? nl::mask() : p0 + p < planes});
  }
  return out;
}

nl::tensor max_pool3d(const nl::tensor& x, int k, int s) {
  auto [planes, d, h, w] = x.shape<4>();
  const int od = (d - k) / s + 1, oh = (h - k) / s + 1, ow = (w - k) / s + 1;
  auto out = nl::ndarray({planes, od, oh, ow}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
  const int n = partitions_of(x);
  for (auto p0 : nl::affine_range(0, planes, n)) {
    auto [p, a, b, c] = nl::mgrid(n, d, h, w);
    auto t = nl::load(x[{p0 + p, a, b, c}], {.mask = planes % n == 0 ? nl::mask() : p0 + p < planes});
    auto [p1, d1, h1, j1, z1] = nl::mgrid(n, d, h, ow, k);
    auto rows = nl::max(t[{p1, d1, h1, s * j1 + z1}], {.axis = 4});
    auto [p2, d2, i2, j2, y2] = nl::mgrid(n, d, oh, ow, k);
    auto planes_of = nl::max(rows[{p2, d2, s * i2 + y2, j2}], {.axis = 4});
    auto [p3, o3, i3, j3, x3] = nl::mgrid(n, od, oh, ow, k);
    auto volumes = nl::max(planes_of[{p3, s * o3 + x3, i3, j3}], {.axis = 4});
    auto [p4, o4, i4, j4] = nl::mgrid(n, od, oh, ow);
    nl::store(out[{p0 + p4, o4, i4, j4}], {.value = volumes, .mask = planes % n == 0 ? nl::mask() : p0 + p4 < planes});
  }
  return out;
}

}  // namespace oriel::tile::kernels
