// Runs parts of the tests of pools over MPI: mpirun -n RANKS oriel_mpi_test_… PART....
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

#include "distributed/mpi/ranks.h"

int main(int count, char** words) {
  using namespace oriel::test;
  const std::map<std::string, void (*)(Ranks&)> parts = {
      {"bits", check_bits},           {"disturbed", check_disturbed_bits},
      {"agreement", check_agreement}, {"faults", check_faults},
      {"soak", check_soak},           {"overhead", check_overhead},
      {"overlap", check_overlap},     {"exchange", check_exchange},
      {"weak", check_weak_scaling},   {"die", die_in_exchange},
  };
  const std::vector<std::string> asked(words + 1, words + count);
  if (asked.empty() || !std::all_of(asked.begin(), asked.end(), [&](auto& name) { return parts.contains(name); })) {
    fmt::print(stderr, "usage: mpirun -n RANKS {} PART...\n", words[0]);
    return 2;
  }
  std::string early;  // before MPI is there, a pool is refused
  const oriel::Problem problem = oriel::parse_problem("max:f32:4:k1:axes0");
  const auto all = oriel::distributed::Partition::balanced({4}, {1});
  early = error_of([&] { oriel::distributed::make_mpi_pool(problem, all, all, MPI_COMM_WORLD); });
  int level = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level);
  Ranks ranks;
  ranks.expect_equal(early, "distributed pool: MPI must be initialised and not finalised, but is not",
                     "before MPI_Init");
  bool good = true;
  for (const std::string& name : asked) {
    const auto start = std::chrono::steady_clock::now();
    try {
      parts.at(name)(ranks);
    } catch (const std::exception& e) {
      ranks.expect(false, e.what());
    }
    for (const std::string& f : ranks.failures) fmt::print("{}\n", f);
    std::fflush(stdout);
    long mine[2] = {ranks.checks, static_cast<long>(ranks.failures.size())}, sum[2] = {0, 0};
    MPI_Allreduce(mine, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (ranks.rank == 0) {
      fmt::print("{} on {} ranks: {} checks, {} failed, {:.1f} s\n", name, ranks.size, sum[0], sum[1], took.count());
    }
    good = good && sum[1] == 0 && sum[0] > 0;
    ranks.checks = 0;
    ranks.failures.clear();
  }
  MPI_Finalize();
  return good ? 0 : 1;
}
