// HDF5 for ranks that write one file together.
#pragma once

#include <cstdint>

namespace oriel::cli {

/// Makes an HDF5 file access property list (an hid_t) one for all ranks of MPI_COMM_WORLD.
void use_ranks_for_hdf5(std::int64_t list);

}  // namespace oriel::cli
