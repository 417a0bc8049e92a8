// The grid emulator, as tests see it: how blocks and threads are scheduled, the memory that kernels may touch, and
// what was found and counted. Kernels run one block after another on the calling thread; threads of a block are fibers
// that switch at barriers, shuffles and votes only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace grid {

enum class Order { forward, reverse, random };

struct Options {
  Order order = Order::forward;  // of blocks, and of threads wherever one may go on
  std::uint64_t seed = 1;        // for Order::random
  unsigned char poison = 0xdb;   // what shared and device memory is filled with
  bool count = false;            // counts sectors and widths
  // Below 1 for a test of huge grids: the share of a grid's blocks, the last ones, that run. It is halved from launch
  // to launch since the last reset, so that what a launch reads was written by the one before.
  double last_share = 1;
  double milliseconds = 1;        // that the clock goes on by with each launch,
  double plain_milliseconds = 1;  // and with one without dynamic shared memory
};

/// What launches did since the last reset. Width i stands for accesses of 2^i bytes by one thread.
struct Report {
  std::vector<std::string> failures;  // what no kernel may do; at most 20 are kept
  std::uint64_t launches = 0;
  cudaStream_t stream = nullptr;  // of the last one
  std::uint64_t copies_in = 0;    // cudaMemcpy and its kind, from the host to the device
  std::uint64_t copies_out = 0;   // and back
  std::uint64_t threads = 0;
  std::uint64_t barriers = 0;  // passed by whole blocks
  std::uint64_t shuffles = 0;  // of whole warps, votes included
  std::uint64_t atomics = 0;
  std::uint64_t rewritten = 0;  // bytes that one launch stored twice
  // With Options::count:
  std::uint64_t reads_by_width[5] = {};
  std::uint64_t writes_by_width[5] = {};
  std::uint64_t read_sectors = 0;  // 32-byte sectors, summed over the accesses of warps
  std::uint64_t write_sectors = 0;
  std::uint64_t distinct_read_sectors = 0;  // different ones among them
  std::uint64_t distinct_write_sectors = 0;
  std::size_t shared_bytes = 0;  // the most that a block had
};

Options& options();
Report& report();
/// Forgets the report; options stay.
void reset();

/// Milliseconds as events see them; tests may change it too.
double& clock();

/// Device memory, named in failures; poisoned and unwritten. Null when there is no more.
void* allocate(std::size_t bytes, const char* name);
/// Frees it; false for a pointer that is none.
bool release(void* p);
/// Declares bytes as written by the host, so that kernels may read them.
void mark_written(const void* p, std::size_t bytes);
/// Takes that back.
void mark_unwritten(const void* p, std::size_t bytes);
/// From now on kernels must not write to the allocation.
void protect(const void* p);
/// Whether every byte was written, by the host or a kernel.
bool all_written(const void* p, std::size_t bytes);
/// Places an allocation on another device of the emulated machine, which has two.
void move_to_device(const void* p, int device);

/// The next runtime call of that name fails with `error`, e.g. fail_next("cudaMallocAsync", ...).
void fail_next(const char* call, cudaError_t error);
/// Whether the emulated machine has a device at all (it has).
void set_device_count(int count);

}  // namespace grid
