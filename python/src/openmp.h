// The threads that another library of the process, such as PyTorch, computes with by OpenMP.
#pragma once

#include <string>

#include "oriel/executor.h"

namespace oriel::python {

/// From now on `openmp_executor` gives the threads of the OpenMP runtime that the loaded library at `path` is linked
/// with; none, if the path is empty. Returns whether there is such a runtime: of those that have GNU's interface, as
/// libgomp, libomp and libiomp5 do on Linux.
bool use_openmp_of(const std::string& path);

/// The threads that a parallel region of the calling thread has, for one call from it: valid until the next call of
/// this function by the same thread. Null if there is no runtime, or if the process was forked after it was found: its
/// threads are not in the child, and libgomp would wait for them.
const Executor* openmp_executor();

}  // namespace oriel::python
