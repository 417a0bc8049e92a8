// An array in memory together with what keeps it alive.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oriel/tensor.h"

namespace oriel::io {

/// What an image file says beside its pixels; kept so that a result can be written with it.
struct Picture {
  double pixels_per_mm_x = 0;
  double pixels_per_mm_y = 0;
  std::vector<std::byte> icc_profile;  // empty: none
  int pages = 1;                       // pictures in the file
  int page = 0;                        // that was asked for, counted from 1; 0: none, so the first was read
};

/// A read-only tensor and the memory (a mapped file, a buffer) that it looks into.
struct Array {
  ConstTensor view;
  std::shared_ptr<const void> memory;
  std::optional<Picture> picture;  // where it came from an image
  std::string part{};              // its name in the archive that it came from
};

/// A dense tensor with memory of its own, aligned to 64 bytes and not initialised.
struct Buffer {
  Tensor view;
  std::shared_ptr<void> memory;
};
/// Throws Error when there is not that much memory.
Buffer allocate(Dtype dtype, const Extents& shape);

/// Copies every element; dtypes and shapes must be the same, pitches need not.
void copy(const ConstTensor& from, const Tensor& to);

/// `t` itself when it is dense in C order, else a copy that is.
Array dense(const ConstTensor& t);

}  // namespace oriel::io
