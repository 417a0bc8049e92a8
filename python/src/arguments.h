// Python's arguments of a pool (ints, sequences, padding words) as a Pool.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "oriel/problem.h"

namespace oriel::python {

namespace nb = nanobind;

/// An int, anything with __index__ (but no bool). Throws TypeFault, and Error when it does not fit 64 bits.
index_t read_int(std::string_view function, const char* argument, nb::handle object);

/// An int (one value) or a sequence of ints. Throws TypeFault, and Error for more than kMaxRank values.
Extents read_ints(std::string_view function, const char* argument, nb::handle object);

/// The same, None being the empty list.
Extents read_optional_ints(std::string_view function, const char* argument, nb::handle object);

/// A shape: extents that are not negative.
Extents read_shape(std::string_view function, const char* argument, nb::handle object);

/// True or False, NumPy's too, or 1 or 0.
bool read_bool(std::string_view function, const char* argument, nb::handle object);

IndexSpace read_space(std::string_view function, nb::handle object);
/// The dtype of that name, as NumPy and ml_dtypes have it.
Dtype read_dtype(std::string_view function, nb::handle object);
/// The dtype of indices that are to be returned.
Dtype read_index_dtype(std::string_view function, nb::handle object);

nb::tuple to_tuple(const Extents& values);

/// A Pool of the library, and what Python asks beyond it.
struct PythonPool {
  Pool pool;
  int ndim = 0;  // 0, or the number of last axes that are pooled, the tensor having one or two more

  /// `max_pool`, or `max_pool2d` where ndim is 2: for error texts.
  std::string_view function() const;
  /// Throws Error when a tensor of that shape has not ndim + 1 or ndim + 2 axes.
  void check_rank(const Extents& shape) const;
  /// The same pool on a tensor of that rank. If it names no axes: of as many last ones as its lists have values; with
  /// single values of all but batch and channels (the first two of 3 to 5 axes). So functions for networks count axes.
  PythonPool beside_channels(int rank) const;
};

/// What the arguments say; see the class Pool of the module. They are checked against a tensor only later.
PythonPool read_pool(nb::handle op, nb::handle kernel_size, nb::handle stride, nb::handle padding, nb::handle dilation,
                     nb::handle output_size, nb::handle axes, nb::handle ceil_mode, nb::handle count_include_pad,
                     nb::handle divisor, nb::handle norm, bool omit_nan, int ndim);

}  // namespace oriel::python
