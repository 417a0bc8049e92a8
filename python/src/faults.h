// What the bindings throw for an argument of the wrong type; oriel::Error is what they throw for a wrong value.
#pragma once

#include <stdexcept>

namespace oriel::python {

/// Becomes a Python TypeError.
class TypeFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A Python exception is set already; nothing is to be added.
class PythonFault {};

}  // namespace oriel::python
