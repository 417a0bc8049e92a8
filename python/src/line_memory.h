// Memory for large NumPy arrays that begins with a line of the caches.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace oriel::python {

/// Called once, when the module is loaded and NumPy's interface is. Throws nb::python_error.
void import_line_memory();

/// While it lives, arrays that this thread makes with NumPy have memory that begins with a line of the caches; they own
/// it and give it back as any array does. Nothing changes where `bytes` are few, or where the caller has chosen another
/// allocator of NumPy's. Throws nb::python_error.
class LineMemory {
 public:
  explicit LineMemory(std::size_t bytes);
  ~LineMemory();
  LineMemory(const LineMemory&) = delete;
  LineMemory& operator=(const LineMemory&) = delete;

 private:
  nanobind::object before_;  // what allocated until then, if that is changed
};

}  // namespace oriel::python
