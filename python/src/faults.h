// What the bindings throw for an argument of the wrong type; oriel::Error is what they throw for a wrong value.
#pragma once

#include <stdexcept>

#include "oriel/types.h"

namespace oriel::python {

/// Becomes a Python TypeError.
class TypeFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An array whose memory cannot be read, as it is on another device, say.
class ElsewhereFault : public Error {
 public:
  using Error::Error;
};

}  // namespace oriel::python
