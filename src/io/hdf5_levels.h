// Levels as the datasets of an HDF5 file. Programs that link HDF5 (hdf5.h) have it.
#pragma once

#include "io/levels.h"

namespace oriel::io {

/// `FILE.h5`, with the datasets `/0`, `/1` …: a new file, or one that has no other datasets, which is replaced.
/// Elements wait uncompressed beside it until all are there, so that its bytes do not depend on who writes what when.
const LevelsFormat& hdf5_levels();

}  // namespace oriel::io
