// How much memory an input may take that is read whole: a picture, an array of an archive, what a pipe gives.
#pragma once

#include <string>

#include "oriel/types.h"

namespace oriel::io {

/// Bytes of memory that this process could have at most: the machine's, or its control group's or its own limit.
index_t machine_memory();

/// From now on inputs may take so many bytes in all; `reason` is what errors say after the number. Until it is called:
/// three quarters of machine_memory.
/// Example: set_memory_bound(index_t{1} << 30, "as --memory says");
void set_memory_bound(index_t bytes, std::string reason);
index_t memory_bound();

/// Throws Error if `bytes` are more than the bound: `FILE: WHAT takes 30000 MiB of memory; allowed: at most 12000 MiB,
/// REASON`. Called with what a file's header says, before anything is decoded.
void check_memory(const std::string& file, const std::string& what, index_t bytes);

}  // namespace oriel::io
