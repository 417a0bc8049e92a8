// What the bindings throw for an argument of the wrong type, and the words of Python for errors of the engine.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "oriel/types.h"

namespace oriel::python {

/// Becomes a Python TypeError; oriel::Error, of a wrong value, a ValueError.
class TypeFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An array whose memory cannot be read, as it is on another device, say.
class ElsewhereFault : public Error {
 public:
  using Error::Error;
};

/// NumPy's name of a dtype: `float32` for f32.
std::string_view numpy_name(Dtype dtype);

/// The text of an error in Python's words: the functions and arguments of the Python package, NumPy's dtypes.
std::string python_text(const Error& error);

}  // namespace oriel::python
