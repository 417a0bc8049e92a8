// NKI's AveragePool2D tutorial: its kernel, line for line, and its baremetal script. Prints that NKI's way and the
// reference match, for float16, bfloat16 and float32.
#include <cstdio>

#include "oriel/tile/jit.h"

namespace nki = oriel::tile::nki;
namespace nl = oriel::tile::nl;
using nl::tensor;

// in_tensor [C, H, W] -> [C, H/pool_size, W/pool_size]: means of square windows that do not overlap.
inline const auto tensor_avgpool_kernel = nki::jit("tensor_avgpool_kernel", [](tensor in_tensor, int pool_size) {
  // Sizes of what comes in and what goes out
  auto [sz_cin, sz_hin, sz_win] = in_tensor.shape<3>();
  int sz_hout = sz_hin / pool_size;
  int sz_wout = sz_win / pool_size;
  // The result, in HBM, where the caller reads it
  auto out_tensor = nl::ndarray({sz_cin, sz_hout, sz_wout}, {.dtype = in_tensor.dtype(), .buffer = nl::shared_hbm});

  // Channels lie on partitions
  int sz_p = sz_cin;
  int sz_pool = pool_size;

  // Five axes: the channel, then for rows and for columns which window and which place in it
  auto [i0, i1, i2, i3, i4] = nl::mgrid(sz_p, sz_hin / sz_pool, sz_pool, sz_win / sz_pool, sz_pool);

  // From HBM to SBUF, whole
  auto in_tile = nl::load(in_tensor).assert_shape({sz_p, sz_hin, sz_win});

  // The window's two axes, 2 and 4, are summed; nothing is copied to put the windows side by side
  auto out_tile =
      (nl::sum(in_tile[{i0, sz_pool * i1 + i2, sz_pool * i3 + i4}], {.axis = {2, 4}}) / (pool_size * pool_size))
          .assert_shape({sz_p, sz_hout, sz_wout});

  // And back to HBM
  nl::store(out_tensor, {.value = out_tile});
  return out_tensor;
});

namespace {

// The mean of each window, by plain loops in double.
double reference(const nki::array& x, int p, oriel::index_t c, oriel::index_t i, oriel::index_t j) {
  const oriel::index_t h = x.shape()[1], w = x.shape()[2];
  double total = 0;
  for (oriel::index_t t = 0; t < p * p; ++t) total += x.at((c * h + i * p + t / p) * w + j * p + t % p);
  return total / (p * p);
}

bool matches(oriel::Dtype dtype) {
  const int pool_size = 2;
  const oriel::index_t c = 2, hin = 6, win = 6, hout = hin / pool_size, wout = win / pool_size;
  const nki::array in_array = nki::array::arange(dtype, {c, hin, win});

  const nki::array out_tile = tensor_avgpool_kernel(in_array, pool_size);

  bool all = out_tile.shape() == oriel::Extents{c, hout, wout};
  std::printf("%s:", std::string(oriel::name(dtype)).c_str());
  for (oriel::index_t o = 0; o < c * hout * wout; ++o) {
    std::printf(" %g", out_tile.at(o));
    all = all && out_tile.at(o) == reference(in_array, pool_size, o / (hout * wout), o / wout % hout, o % wout);
  }
  std::printf("\n%s\n", all ? "the tile kernel and the reference match" : "the tile kernel and the reference differ");
  return all;
}

}  // namespace

int main() {
  bool all = true;
  for (const oriel::Dtype dtype : {nl::float16, nl::bfloat16, nl::float32}) all = matches(dtype) && all;
  return all ? 0 : 1;
}
