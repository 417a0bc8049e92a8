#include "cli/held_memory.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "io/memory_bound.h"

namespace oriel::cli {
namespace {

// Bytes of so many elements, or more than there can be.
index_t bytes_of(index_t count, index_t each) {
  index_t bytes = 0;
  return __builtin_mul_overflow(count, each, &bytes) ? std::numeric_limits<index_t>::max() / 4 : bytes;
}

}  // namespace

index_t resident_bytes() {
  index_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

index_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    index_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return resident_bytes();
}

void keep_memory_low() {
  constexpr int at_once = 128 << 10;
  ::mallopt(M_MMAP_THRESHOLD, at_once);
  ::mallopt(M_TRIM_THRESHOLD, at_once);
}

index_t reserve_bytes(bool library, index_t chunk_bytes) {
  constexpr index_t kib = 1024, program = 4608 * kib, library_code = 2560 * kib;
  // A filter has its input, its output, and its output while that grows; then HDF5 has the chunk.
  constexpr index_t chunks = 4;
  return program + (library ? library_code : 0) + chunks * chunk_bytes;
}

void bound_inputs(const PoolCommand& c) {
  if (c.memory == 0)
    return io::set_memory_bound(io::machine_memory() / 4 * 3,
                                "three quarters of this machine's memory; --memory allows more");
  io::set_memory_bound(c.memory - resident_bytes(),
                       fmt::format("what --memory leaves after the program's own {} MiB", resident_bytes() >> 20));
}

void check_whole(const PoolCommand& c, const Problem& problem) {
  const index_t count = element_count(problem.output_shape);
  // Formats other than .npy are made in memory before they are written.
  const bool direct = c.format == "npy" || (c.format.empty() && (c.out == "-" || c.out.ends_with(".npy")));
  const index_t result = bytes_of(count, size_bytes(problem.result) * (direct ? 1 : 2));
  const index_t indices = c.indices.empty() ? 0 : bytes_of(count, 8);
  bound_inputs(c);  // what was read is among what the program holds now
  io::check_memory(c.out, fmt::format("a result of shape {}", to_string(problem.output_shape)), result + indices);
}

}  // namespace oriel::cli
