// `oriel` under mpirun.
#pragma once

namespace oriel::cli {

/// When mpirun started this process with others and the command is `pool` or `pyramid`: runs the program that is linked
/// with that MPI (libexec/oriel/oriel-openmpi, oriel-mpich) in this one's place, and does not return. Throws Error if
/// this build has none. The environment variable ORIEL_MPI (openmpi, mpich, none) decides if it is set.
void start_ranks(int argc, char** argv);

}  // namespace oriel::cli
