// The tests that this file is linked into split small problems over threads too, which the library does not. They make
// and drop tensors all the time: half of their time went into giving memory back to the system.
#include <malloc.h>

#include "cpu/runtime/parallel.h"

namespace {
[[maybe_unused]] const bool kSplit = (oriel::cpu::task_bytes = 1) == 1;
[[maybe_unused]] const bool kAsk = (oriel::cpu::worth_waking = {}).count() == 0;
[[maybe_unused]] const int kKeepMemory = mallopt(M_TRIM_THRESHOLD, 1 << 28) + mallopt(M_MMAP_THRESHOLD, 1 << 26);
}  // namespace
