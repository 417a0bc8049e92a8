#define NO_IMPORT_ARRAY  // array.cc does
#include "line_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "numpy_interface.h"

namespace oriel::python {
namespace {

namespace nb = nanobind;

constexpr std::size_t kLine = 64;
constexpr std::size_t kFewest = std::size_t{1} << 20;     // bytes: results past the caches are larger
constexpr std::size_t kHugePages = std::size_t{1} << 22;  // from here on NumPy asks for them, and so do we

// Large pages where the system has them to give: without, first writing to a result takes several times as long.
void ask_for_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory), first = (begin + page - 1) / page * page;
  if (bytes >= kHugePages) madvise(reinterpret_cast<void*>(first), bytes - (first - begin), MADV_HUGEPAGE);
#endif
}

void* allocate(void*, std::size_t bytes) {
  if (bytes > SIZE_MAX - kLine) return nullptr;
  void* memory = std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
  if (memory != nullptr) ask_for_huge_pages(memory, bytes);
  return memory;
}
void* allocate_zeros(void*, std::size_t n, std::size_t bytes) { return std::calloc(n, bytes); }
void* reallocate(void*, void* memory, std::size_t bytes) { return std::realloc(memory, bytes); }
void release(void*, void* memory, std::size_t) { std::free(memory); }

// NumPy keeps the capsule with every array that it made memory for.
PyDataMem_Handler lines = {"oriel_lines", 1, {nullptr, allocate, allocate_zeros, reallocate, release}};
PyObject* handler = nullptr;

}  // namespace

void import_line_memory() {
  handler = PyCapsule_New(&lines, "mem_handler", nullptr);
  if (handler == nullptr) throw nb::python_error();
}

LineMemory::LineMemory(std::size_t bytes) {
  if (bytes < kFewest) return;
  const nb::object now = nb::steal(PyDataMem_GetHandler());
  if (!now.is_valid()) throw nb::python_error();
  if (now.ptr() != PyDataMem_DefaultHandler) return;
  before_ = nb::steal(PyDataMem_SetHandler(handler));
  if (!before_.is_valid()) throw nb::python_error();
}

LineMemory::~LineMemory() {
  if (!before_.is_valid()) return;
  Py_XDECREF(PyDataMem_SetHandler(before_.ptr()));
}

}  // namespace oriel::python
