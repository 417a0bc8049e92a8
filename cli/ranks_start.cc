#include "cli/ranks_start.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace oriel::cli {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Started {
  std::string mpi;  // empty: by no mpirun, or alone
  std::string ranks, rank;
};

// Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE, MPICH's (and Slurm's, for MPICH) PMI_SIZE.
Started who_started() {
  Started by;
  for (const auto& [mpi, size, rank] :
       {std::array{"openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"mpich", "PMI_SIZE", "PMI_RANK"}}) {
    if (variable(size).empty() || !by.ranks.empty()) continue;
    by = {mpi, variable(size), variable(rank)};
  }
  if (by.ranks == "1") by = {};
  const std::string asked = variable("ORIEL_MPI");
  if (asked.empty()) return by;
  if (asked != "openmpi" && asked != "mpich" && asked != "none")
    throw UsageError("oriel", fmt::format("ORIEL_MPI: '{}' is not known; allowed: openmpi, mpich, none", asked));
  by.mpi = asked == "none" ? "" : asked;
  return by;
}

// Each of srun's tasks would write the whole output.
void refuse_lonely_tasks(const std::string& command) {
  const std::string tasks = variable("SLURM_STEP_NUM_TASKS");
  if (tasks.empty() || tasks == "1" || !variable("ORIEL_MPI").empty()) return;
  if (variable("SLURM_PROCID") != "0") std::exit(kExitFailure);  // one of them speaks
  throw UsageError(command,
                   fmt::format("SLURM started {} tasks, but sets neither OMPI_COMM_WORLD_SIZE nor PMI_SIZE; allowed: "
                               "srun --mpi=pmi2 with MPICH, ORIEL_MPI=openmpi or mpich, or ORIEL_MPI=none, which lets "
                               "each task do all of the work",
                               tasks));
}

}  // namespace

void start_ranks(int argc, char** argv) {
  if (argc < 2 || (std::strcmp(argv[1], "pool") != 0 && std::strcmp(argv[1], "pyramid") != 0)) return;
  const std::vector<std::string_view> words(argv, argv + argc);
  const std::string command = std::string("oriel ") + argv[1];
  const Started by = who_started();
  if (std::find(words.begin(), words.end(), "--check") != words.end()) {  // which one process does
    if (!by.mpi.empty() && !by.rank.empty() && by.rank != "0") std::exit(kExitDone);
    return;
  }
  if (by.mpi.empty()) return refuse_lonely_tasks(command);
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path program = self.parent_path().parent_path() / "libexec" / "oriel" / ("oriel-" + by.mpi);
  ::execv(program.c_str(), argv);
  if (!by.rank.empty() && by.rank != "0") std::exit(kExitFailure);  // one of them speaks
  throw UsageError(
      command,
      fmt::format("mpirun of {} started {} ranks, but {} cannot run: {}; allowed: a build with that MPI's development "
                  "files (lib{}-dev), one rank, or ORIEL_MPI=none, which lets each rank do all of the work",
                  by.mpi, by.ranks.empty() ? "some" : by.ranks, program.string(), std::strerror(errno), by.mpi));
}

}  // namespace oriel::cli
