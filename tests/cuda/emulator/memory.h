// Inside the emulator: device memory and the counts of one block's accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda_runtime.h"

namespace grid {

/// Where a failure happened: set by the scheduler.
std::string where();
void fail(const std::string& text);
/// Starts a launch: stores of earlier ones no longer count as rewritten.
void begin_launch();
/// Names the thread whose accesses follow: its warp in the block, and how many accesses it made.
struct Accessor {
  unsigned warp = 0;
  unsigned ordinal = 0;
};
void set_accessor(Accessor* accessor);
/// Sums up what a block's warps accessed.
void end_block();
/// A failure that was asked for, or cudaSuccess.
cudaError_t asked_failure(const char* call);
/// Remembers an error for cudaGetLastError, and returns it.
cudaError_t remember(cudaError_t error);

}  // namespace grid
