// Bilinear sampling, and pictures of any size from pictures of any size.
#pragma once

#include <vector>

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// Where `out` samples lie among `in` values, centres of pixels aligned and ends held: sample o is
/// (1 - weight[o]) x[at[o]] + weight[o] x[at[o] + 1]. A value stands for `step` samples; 0: for out / in.
struct Between {
  Between(index_t in, index_t out, index_t step = 0);
  std::vector<index_t> at;
  std::vector<float> weight;
};

/// Rows of planes enlarged bilinearly, one at a time; `step` undoes stepped(). The planes must outlive it.
class Enlarged {
 public:
  Enlarged(const Planes& planes, index_t height, index_t width, index_t step = 0);
  /// Row y of plane c of the enlarged picture into out[0 .. width).
  void row(index_t plane, index_t y, float* out) const;
  /// The value at (y, x) alone.
  float value(index_t plane, index_t y, index_t x) const;

 private:
  const Planes& planes_;
  Between down_, across_;
};

/// `x` in another size: means where it gets smaller, bilinear where it gets larger.
Planes resized(const Planes& x, index_t height, index_t width, int threads = 0);
Image resized(const Image& x, index_t height, index_t width, int threads = 0);

/// The colours of a picture as three planes from 0 to 1.
Planes colours_of(const Image& image, int threads = 0);

}  // namespace oriel::portrait
