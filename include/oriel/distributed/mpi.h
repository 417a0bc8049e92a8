// Divided pools over MPI. This header needs no mpi.h; link with the library that was built for your MPI:
// oriel::openmpi or oriel::mpich.
#pragma once

#include <cstring>
#include <type_traits>

#include "oriel/distributed/transport.h"

namespace oriel::distributed {

/// An MPI_Comm of any type: a number or a pointer.
class Communicator {
 public:
  template <class Handle>
  requires(std::is_pointer_v<Handle> || std::is_integral_v<Handle>) Communicator(Handle handle)
      : bytes_(sizeof handle) {  // NOLINT: a communicator is given as it is
    std::memcpy(bits_, &handle, sizeof handle);
  }
  std::size_t size() const { return bytes_; }
  const void* bits() const { return bits_; }

 private:
  alignas(8) unsigned char bits_[8] = {};
  std::size_t bytes_;
};

/// How messages are sent: with persistent requests from rank to rank; with one neighbourhood collective of a
/// distributed graph; through shared memory within a node and persistent requests between nodes.
enum class MpiMethod : std::uint8_t { persistent, neighbourhood, shared_memory };

/// Options, which must be the same on every rank, except the deadline.
struct MpiOptions {
  MpiMethod method = MpiMethod::persistent;
  std::vector<Pass> passes{};             ///< to be used; empty: forward, and the pool's gradient if it has one
  double deadline = 600;                  ///< seconds that a rank waits for others before it throws Error
  index_t most_bytes = index_t{1} << 30;  ///< of one MPI message, 1 to 2^31 - 1; longer ones are split
  int most_sharers = 0;                   ///< largest number of ranks of a node that share memory; 0: all
  Beside beside{};                        ///< the mask and the weights that calls have
};

/// A failed MPI call: the text names it and has MPI's message; its error code, and the other rank (-1 if unknown).
class ORIEL_API MpiError : public Error {
 public:
  MpiError(const std::string& text, int error_code, index_t other) : Error(text), code(error_code), peer(other) {}
  int code;
  index_t peer;
};

/// The pool of this rank of `comm`, whose rank r owns part r of both partitions. Collective: every rank of `comm` calls
/// it. The communicator is duplicated, so other messages cannot be confused with these. MPI must be initialised, with
/// MPI_THREAD_MULTIPLE if several threads use MPI at once.
///
/// Throws Error, the same on every rank, if the problems, partitions, options or versions of the ranks differ, or the
/// partitions do not fit the problem or the communicator; MpiError if MPI fails. No rank waits longer than the
/// deadline: if a rank dies, the others throw Error then, unless mpirun has ended them before.
///
/// Example: auto p = make_mpi_pool(problem, inputs, centred_outputs(problem, inputs), MPI_COMM_WORLD); p.forward(x, y);
ORIEL_API DistributedPool make_mpi_pool(const Problem& problem, const Partition& inputs, const Partition& outputs,
                                        Communicator comm, const MpiOptions& options = {});

}  // namespace oriel::distributed
