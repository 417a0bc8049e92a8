// Asynchronous copies to shared memory for the grid emulator. When a copy takes place is the schedule's choice: at once
// or as late as its thread's wait allows, so that both a missing wait and a copy over what others still read are seen.
#pragma once

#include "cuda_runtime.h"

namespace grid {
void begin_copy(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(std::size_t groups_left);
}  // namespace grid

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  grid::begin_copy(to, from, bytes);
}
inline void __pipeline_commit() { grid::commit_copies(); }
inline void __pipeline_wait_prior(std::size_t groups_left) { grid::wait_for_copies(groups_left); }
