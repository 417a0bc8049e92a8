// In builds for an MPI without its HDF5: hdf5_none.cc has refused before.
#include "cli/ranks_hdf5.h"

namespace oriel::cli {

void use_ranks_for_hdf5(std::int64_t) {}

}  // namespace oriel::cli
