// Which instruction set runs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace oriel::cpu {

/// What the kernels of one instruction set have (instruction_set.h).
struct Kernels {
  int vector_bytes;  ///< of the longest vectors; 0: none
  bool planes;       ///< kernels of planes, channels and masked rows
  bool registers;    ///< folds of whole windows in registers, with indices and codes
  bool bytes;        ///< bytes of two vectors in any order
};

/// Targets that this build has and this machine runs, best first.
std::vector<std::string> supported_targets();
/// What these have, in the same order.
std::span<const Kernels> supported_kernels();
/// The one in use, by the name that its own code gives.
std::string active_target();
/// Chooses one by name in any case; empty: the best. Throws Error.
void set_target(std::string_view name);

/// Where they stand in Highway's dispatch tables, best first.
std::span<const std::size_t> dispatch_numbers();
/// Which of these is in use.
std::size_t active_number();

}  // namespace oriel::cpu
