// Checks that all ranks of a run make together, and the parts of the test program.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <string>
#include <thread>
#include <vector>

#include "distributed/divided.h"
#include "distributed/mpi/shim.h"
#include "oriel/distributed/mpi.h"

namespace oriel::test {

/// This run's ranks, and what went wrong so far.
class Ranks {
 public:
  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }

  /// Notes a failure of this rank unless `holds`.
  void expect(bool holds, const std::string& what) {
    ++checks;
    if (!holds) failures.push_back(fmt::format("rank {}: {}", rank, what));
  }
  void expect_equal(const std::string& got, const std::string& expected, const std::string& what) {
    expect(got == expected, fmt::format("{}: `{}` instead of `{}`", what, got, expected));
  }

  /// Whether any rank has failed. Collective.
  bool failed() const {
    int mine = failures.empty() ? 0 : 1, all = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) std::this_thread::yield();
    return all != 0;
  }

  /// The text of rank `from` on every rank. Collective.
  std::string text_of(int from, const std::string& mine) const {
    std::vector<char> text(2000, '\0');
    if (rank == from) mine.copy(text.data(), text.size() - 1);
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, from, MPI_COMM_WORLD);
    return text.data();
  }

  int rank = 0;
  int size = 0;
  long checks = 0;
  std::vector<std::string> failures;
};

inline constexpr distributed::MpiMethod kMethods[] = {
    distributed::MpiMethod::persistent, distributed::MpiMethod::neighbourhood, distributed::MpiMethod::shared_memory};

/// What a call throws, or an empty text.
std::string error_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

// The parts. Each returns when all its checks are made.
void check_bits(Ranks& ranks);
void check_disturbed_bits(Ranks& ranks);
void check_agreement(Ranks& ranks);
void check_faults(Ranks& ranks);
void check_soak(Ranks& ranks);
void check_overhead(Ranks& ranks);
void check_overlap(Ranks& ranks);
void check_exchange(Ranks& ranks);
void check_weak_scaling(Ranks& ranks);
void die_in_exchange(Ranks& ranks);

}  // namespace oriel::test
