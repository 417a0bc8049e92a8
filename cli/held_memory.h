// What this process holds in memory, and what --memory leaves for the rest.
#pragma once

#include "cli/options.h"
#include "oriel/problem.h"

namespace oriel::cli {

/// Bytes of the resident set: the program itself, its libraries, MPI, what was read.
index_t resident_bytes();
/// The most that it was so far.
index_t peak_bytes();

/// Makes the allocator return memory to the system as soon as it is no longer used.
void keep_memory_low();

/// What the program and the library of HDF5, or those of Zarr (if an input or an output is such a file), take while
/// blocks are made, beside the blocks and the pool's own memory: code that is not loaded yet, tables, and the chunk
/// that is taken out of its filters.
index_t reserve_bytes(bool library, index_t chunk_bytes);

/// Before an input is read whole: bounds what it may take (io::set_memory_bound), by --memory or by the machine.
void bound_inputs(const PoolCommand& command);

/// After it was read: throws Error naming the output when the results take more than is left.
void check_whole(const PoolCommand& command, const Problem& problem);

}  // namespace oriel::cli
