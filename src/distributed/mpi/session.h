// What the MPI transports stand on: a communicator of their own, errors as exceptions, waiting with a deadline.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "oriel/distributed/mpi.h"

namespace oriel::distributed {

/// Throws MpiError unless `code` is MPI_SUCCESS. `call` is the MPI function.
void check_mpi(int code, std::string_view call, index_t peer = -1);

/// Whether MPI can be called: initialised and not finalised.
bool mpi_runs();

/// A communicator that is freed with this, unless MPI was finalised before.
class OwnComm {
 public:
  OwnComm() = default;
  explicit OwnComm(MPI_Comm comm) : comm_(comm) {}
  OwnComm(OwnComm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  OwnComm& operator=(OwnComm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~OwnComm() {
    if (comm_ != MPI_COMM_NULL && mpi_runs()) MPI_Comm_free(&comm_);
  }
  MPI_Comm get() const { return comm_; }
  /// Never frees it: MPICH gives the number of a freed communicator to the next one, and messages that were under way
  /// arrive there.
  void keep() { comm_ = MPI_COMM_NULL; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// A type that is freed with this, unless MPI was finalised before.
class OwnType {
 public:
  OwnType() = default;
  OwnType(OwnType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  OwnType& operator=(OwnType&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~OwnType() {
    if (type_ != MPI_DATATYPE_NULL && mpi_runs()) MPI_Type_free(&type_);
  }
  MPI_Datatype get() const { return type_; }
  MPI_Datatype* place() { return &type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Waits for a request that is not persistent; throws Error when `seconds` are over before.
void complete(MPI_Request& request, double seconds, std::string_view call);

/// A duplicate of `comm` whose errors are returned. Collective.
OwnComm duplicate(MPI_Comm comm, double seconds);

/// One thing that all ranks must give alike: its name, and what this rank gives.
struct Aspect {
  std::string name;
  std::string text;
};

/// Throws the same Error on every rank when any has a `failure` (text; empty: none) or when they differ in an aspect.
/// Collective; every rank gives as many aspects.
void agree(MPI_Comm comm, const std::vector<Aspect>& aspects, const std::string& failure, double seconds);

/// Runs a step of this rank alone. When it throws an Error on any rank, that rank goes on throwing it, and all others
/// throw its words. Collective.
void all_succeed(MPI_Comm comm, double seconds, const std::function<void()>& step);

}  // namespace oriel::distributed
