// What this process holds in memory, and what --memory leaves for the rest.
#pragma once

#include "cli/options.h"
#include "oriel/problem.h"

namespace oriel::cli {

/// Bytes of the resident set: the program itself, its libraries, MPI, what was read.
index_t resident_bytes();

/// Before an input is read whole: bounds what it may take (io::set_memory_bound), by --memory or by the machine.
void bound_inputs(const PoolCommand& command);

/// After it was read: throws Error naming the output when the results take more than is left.
void check_whole(const PoolCommand& command, const Problem& problem);

}  // namespace oriel::cli
