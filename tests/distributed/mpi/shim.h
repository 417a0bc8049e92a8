// What MPI's profiling interface lets a test put between the library and MPI: counts, faults, delays, latency.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <random>

namespace oriel::test {

struct Shim {
  // Counted: sends that were started, and their bytes.
  std::int64_t sends = 0;
  std::int64_t bytes = 0;

  // What was made and not given back: persistent requests, and types. (Of communicators, those are kept on
  // purpose whose messages were left under way.)
  std::int64_t live_requests = 0;
  std::int64_t live_types = 0;

  // The n-th call from now on of a function fails; 0: none does.
  enum class At { none, start, send_init, testsome, status, neighbour, commit };
  At fault = At::none;
  int fault_in = 0;
  int fault_code = MPI_ERR_OTHER;

  bool disturb = false;        // calls take random times, and what is complete is told in random order
  std::int64_t disturbed = 0;  // how often it did so
  double latency = 0;          // seconds after a start before anything is told to be complete
  std::mt19937_64 random{1};
};

Shim& shim();

}  // namespace oriel::test
