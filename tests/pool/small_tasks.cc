// The tests that this file is linked into split small problems over threads too, which the library does not.
#include "cpu/parallel.h"

namespace {
[[maybe_unused]] const bool kSplit = (oriel::cpu::task_bytes = 1) == 1;
}  // namespace
