// The result of a call: written into the caller's array if one is given, else into a new one.
#pragma once

#include <optional>
#include <string_view>

#include "array.h"

namespace oriel::python {

class Result {
 public:
  Result(std::string_view function, const char* argument, nb::handle out, const Array& like, Dtype dtype,
         const Extents& shape) {
    if (out.is_none()) {
      fresh_.emplace(like, dtype, shape);
    } else {
      given_ = read_output(function, argument, out, like, dtype, shape);
    }
  }
  Tensor view() const { return fresh_ ? fresh_->view() : given_.writable_view(); }
  nb::object finish() { return fresh_ ? fresh_->finish() : given_.object; }

 private:
  std::optional<NewArray> fresh_;
  Array given_;
};

}  // namespace oriel::python
