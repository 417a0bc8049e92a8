#include "cli/ranks_hdf5.h"

#include <hdf5.h>
#include <mpi.h>

#include "oriel/types.h"

namespace oriel::cli {

void use_ranks_for_hdf5(std::int64_t list) {
  if (H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL) < 0)
    throw Error("HDF5: this library cannot open a file on several ranks");
}

}  // namespace oriel::cli
