// The reference that everything else is compared with: naive loops over the definitions S1 to S10 and S13 to S20 of
// docs/semantics.md. It shares no geometry and no arithmetic with the library: only the names of the types.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "oriel/types.h"

namespace oriel::reference {

enum class Windows { uniform, adaptive, global };
enum class Pads { given, same_upper, same_lower };
enum class Method { lower, higher, nearest, midpoint, linear, inverted_cdf, scipy };
enum class Ties { lowest, highest, first };

/// A pool on a dense row-major array. Lists have one value per pooled axis; those that `windows` or `pads` make
/// meaningless are not read. A long double holds every element of every dtype exactly.
struct Pooling {
  Op op = Op::max;
  Windows windows = Windows::uniform;
  Pads pads = Pads::given;
  std::vector<index_t> shape;
  std::vector<int> axes;  // pooled, in the order of S4 and S8
  std::vector<index_t> kernel, stride, dilation, pad_lo, pad_hi, output_size;
  bool ceil_mode = false;
  bool count_include_pad = true;
  index_t divisor = 0;  // 0: none
  double norm = 2;
  bool omit_nan = false;

  std::vector<std::uint8_t> footprint;  // one for each tap of the kernel, row-major; empty: all are there
  std::optional<long double> nodata, fill, ignore;
  index_t min_count = 0;
  double min_fraction = 0;
  std::optional<Dtype> result;  // dtype of the result, if asked for
  std::vector<double> q;        // quantile
  std::optional<index_t> rank;  // instead of q
  Method method = Method::lower;
  Ties ties = Ties::lowest;
  int ddof = 0;
  double sharpness = 1;
  bool sum_of_exponentials = false;
};

/// What else a call has, dense and of x's shape.
struct Beside {
  const std::uint8_t* mask = nullptr;  // not 0: valid
  const double* weights = nullptr;
};

/// A result, dense and row-major.
struct Outcome {
  std::vector<index_t> shape;
  std::vector<std::byte> bits;  // elements of the dtype as S7 and S8 define them; of a NaN only that it is one
  std::vector<double> value;    // the same computed apart, in long double or 128-bit integers, in scan order
  std::vector<double> bound;    // |bits - value| is at most this where both are finite
  std::vector<index_t> plane, tensor, window;  // forward of ops that select a tap: the indices of S10
  Dtype dtype = Dtype::f32;                    // of the elements
  bool exact = true;                           // else no rule defines the bits: only value and bound count
};

/// Without the axis of several quantiles.
std::vector<index_t> output_shape(const Pooling& pooling);

/// The dtype of the result (S15).
Dtype result_dtype(const Pooling& pooling, Dtype dtype);

/// y for the elements `x`.
Outcome forward(const Pooling& pooling, Dtype dtype, const void* x);
/// The same by S13 to S20, whatever the op is.
Outcome forward(const Pooling& pooling, Dtype dtype, const void* x, const Beside& beside);

/// dx for the elements x and dy (S9).
Outcome backward(const Pooling& pooling, Dtype dtype, const void* x, const void* dy);
/// The same by S13 to S20: value and bound only. dy has the result's dtype.
Outcome backward(const Pooling& pooling, Dtype dtype, const void* x, const void* dy, const Beside& beside);

/// x of shape `shape`: zero but where `tensor_indices` (flat over `shape`; negative: none) put the elements of y.
Outcome unpool(const std::vector<index_t>& shape, Dtype dtype, const void* y,
               const std::vector<index_t>& tensor_indices);

/// The first of `count` elements in which a and b differ in bits (any two NaNs are the same), or -1.
index_t first_difference(Dtype dtype, const void* a, const void* b, index_t count);

/// The first element of `bits`, as of `outcome`'s dtype, that is farther than the bound from the value, or -1.
index_t first_beyond_bound(Dtype dtype, const void* bits, const Outcome& outcome);

/// Element `i` as a double (64-bit integers may be rounded).
double element(Dtype dtype, const void* data, index_t i);

}  // namespace oriel::reference
