// What `oriel pool` becomes when mpirun starts it: the same command on several ranks. One program for each MPI;
// `oriel` runs the right one in its own place (ranks_start.cc).
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/pool_blocks.h"
#include "cli/ranks_hdf5.h"
#include "cli/signals.h"

namespace {

using namespace oriel;
using namespace oriel::cli;

class MpiTeam : public Team {
 public:
  MpiTeam() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local);
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }
  std::string from_first(const std::string& text) override { return from(0, text); }
  void agree(const std::string& failure) override {
    const index_t first = -greatest(failure.empty() ? -size_ : -rank_);
    if (first < size_) throw Error(from(static_cast<int>(first), failure));
  }
  index_t greatest(index_t mine) override { return reduce(mine, MPI_MAX); }
  index_t sum(index_t mine) override { return reduce(mine, MPI_SUM); }
  UseRanks use_ranks() const override { return use_ranks_for_hdf5; }

 private:
  std::string from(int root, const std::string& mine) {
    std::vector<char> text(4001, '\0');
    if (rank_ == root) mine.copy(text.data(), text.size() - 1);
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, root, MPI_COMM_WORLD);
    return text.data();
  }
  index_t reduce(index_t mine, MPI_Op op) {
    std::int64_t given = mine, all = 0;
    MPI_Allreduce(&given, &all, 1, MPI_INT64_T, op, MPI_COMM_WORLD);
    return all;
  }

  int rank_ = 0, size_ = 1, local_size_ = 1;
};

// All ranks fail alike, so one speaks.
int complain(const Team& team, std::string text, int code) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  if (team.rank() == 0) fmt::print(stderr, "oriel pool: {}\n", text);
  return code;
}

int run(const std::vector<std::string>& words, Team& team) {
  try {
    const Command parsed = parse_command(words);
    if (const auto* const text = std::get_if<TextCommand>(&parsed)) {
      if (team.rank() == 0) fmt::print("{}", text->text);
      return kExitDone;
    }
    return run_pool_in_blocks(std::get<PoolCommand>(parsed), team);
  } catch (const UsageError& e) {
    return complain(team, e.what(), kExitUsage);
  } catch (const std::bad_alloc&) {
    return complain(team, "memory: there is not enough for this", kExitFailure);
  } catch (const std::exception& e) {
    return complain(team, e.what(), kExitFailure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  handle_signals();
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int code = 0;
  {
    MpiTeam team;
    code = run(std::vector<std::string>(argv + 1, argv + argc), team);
  }
  MPI_Finalize();
  return code;
}
