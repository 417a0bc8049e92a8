// Runs one part of the tests of pools over MPI: mpirun -n RANKS oriel_mpi_test_… PART.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

#include "dist/mpi/ranks.h"

int main(int count, char** words) {
  using namespace oriel::test;
  const std::map<std::string, void (*)(Ranks&)> parts = {
      {"bits", check_bits},           {"disturbed", check_disturbed_bits},
      {"agreement", check_agreement}, {"faults", check_faults},
      {"soak", check_soak},           {"overhead", check_overhead},
      {"overlap", check_overlap},     {"exchange", check_exchange},
      {"die", die_in_exchange},
  };
  const auto part = parts.find(count == 2 ? words[1] : "");
  if (part == parts.end()) {
    fmt::print(stderr, "usage: mpirun -n RANKS {} PART\n", words[0]);
    return 2;
  }
  std::string early;  // before MPI is there, a pool is refused
  const oriel::Problem problem = oriel::parse_problem("max:f32:4:k1:axes0");
  const auto all = oriel::dist::Partition::balanced({4}, {1});
  early = error_of([&] { oriel::dist::make_mpi_pool(problem, all, all, MPI_COMM_WORLD); });
  int level = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level);
  const auto start = std::chrono::steady_clock::now();
  Ranks ranks;
  ranks.expect_equal(early, "distributed pool: MPI must be initialised and not finalised, but is not",
                     "before MPI_Init");
  try {
    part->second(ranks);
  } catch (const std::exception& e) {
    ranks.expect(false, e.what());
  }
  for (const std::string& f : ranks.failures) fmt::print("{}\n", f);
  std::fflush(stdout);
  long mine[2] = {ranks.checks, static_cast<long>(ranks.failures.size())}, sum[2] = {0, 0};
  MPI_Allreduce(mine, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (ranks.rank == 0) {
    fmt::print("{} on {} ranks: {} checks, {} failed, {:.1f} s\n", part->first, ranks.size, sum[0], sum[1],
               took.count());
  }
  MPI_Finalize();
  return sum[1] == 0 && sum[0] > 0 ? 0 : 1;
}
