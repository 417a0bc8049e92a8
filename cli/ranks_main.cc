// What `oriel pool` and `oriel pyramid` become when mpirun starts them: the same command on several ranks. One program
// for each MPI; `oriel` runs the right one in its own place (ranks_start.cc).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cli/options.h"
#include "cli/pool_blocks.h"
#include "cli/pyramid_ranks.h"
#include "cli/ranks_deadline.h"
#include "cli/ranks_hdf5.h"
#include "cli/signals.h"
#include "cli/usage.h"
#include "io/unfinished.h"

namespace {

using namespace oriel;
using namespace oriel::cli;

std::string command_name = "oriel pool";  // what errors begin with

// Ends this rank, and with it mpirun and all others.
[[noreturn]] void end_all(const std::string& text) {
  fmt::print(stderr, "{}: {}\n", command_name, text);
  std::fflush(stderr);
  io::remove_unfinished_outputs();
  int began = 0, ended = 0;
  MPI_Initialized(&began);
  MPI_Finalized(&ended);
  if (began != 0 && ended == 0) MPI_Abort(MPI_COMM_WORLD, kExitFailure);
  ::_exit(kExitFailure);
}

// Called by the watchdog's thread, which may not call MPI: mpirun ends all when one rank ends so.
[[noreturn]] void end_this(const std::string& what) {
  const std::string text =
      fmt::format("a rank makes no progress while {}: it is stopped or hangs (see --deadline)\n", what);
  io::remove_unfinished_outputs();
  fmt::print(stderr, "{}: {}", command_name, text);
  std::fflush(stderr);
  ::_exit(kExitFailure);
}

// How many tasks the launcher says it started; 0 if it says nothing.
int tasks_of_launcher() {
  for (const char* const name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* const tasks = std::getenv(name); tasks != nullptr) return std::atoi(tasks);
  return 0;
}

class MpiTeam : public Team {
 public:
  explicit MpiTeam(Watchdog& watchdog) : Team(command_name), watchdog_(watchdog) {
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
  std::string from_first(const std::string& text) override {
    meet();
    return from(0, text);
  }
  void agree(const std::string& failure) override {
    meet();
    const index_t first = -reduce(failure.empty() ? -size_ : -rank_, MPI_MAX);
    if (first < size_) throw Error(from(static_cast<int>(first), failure));
  }
  index_t greatest(index_t mine) override {
    meet();
    return reduce(mine, MPI_MAX);
  }
  index_t sum(index_t mine) override {
    meet();
    return reduce(mine, MPI_SUM);
  }
  void unite(void* bytes, index_t count) override {
    meet();
    const std::shared_ptr<void> watched = watch("bringing levels together");
    constexpr index_t most = index_t{1} << 30;
    for (index_t at = 0; at < count; at += most) {
      const int now = static_cast<int>(std::min(most, count - at));
      auto* const mine = static_cast<char*>(bytes) + at;
      MPI_Reduce(rank_ == 0 ? MPI_IN_PLACE : mine, rank_ == 0 ? mine : nullptr, now, MPI_BYTE, MPI_BOR, 0,
                 MPI_COMM_WORLD);
    }
  }
  void set_deadline(double seconds) { deadline_ = seconds; }
  void expect(index_t bytes) override { allowance_ = static_cast<double>(bytes) / 1e7; }
  std::shared_ptr<void> watch(const std::string& what) override {
    constexpr double later = 4;  // than the ranks that wait in meet, which can tell who is missing
    return watchdog_.watch(patience() + later, what);
  }
  UseRanks use_ranks() const override { return use_ranks_for_hdf5; }

 private:
  std::string from(int root, const std::string& mine) {
    const std::shared_ptr<void> watched = watch("sending to the other ranks");
    std::vector<char> text(4001, '\0');
    if (rank_ == root) mine.copy(text.data(), text.size() - 1);
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, root, MPI_COMM_WORLD);
    return text.data();
  }
  index_t reduce(index_t mine, MPI_Op op) {
    const std::shared_ptr<void> watched = watch("comparing results");
    std::int64_t given = mine, all = 0;
    MPI_Allreduce(&given, &all, 1, MPI_INT64_T, op, MPI_COMM_WORLD);
    return all;
  }

  double patience() const { return deadline_ + allowance_; }

  // Waits for requests as they come; those that have not when the time is over.
  static std::vector<int> still_missing(std::vector<MPI_Request>& requests, double seconds) {
    constexpr int spins = 10000;
    Waited waited;
    for (int i = 0;; ++i) {
      int done = 0;
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) return {};
      if (i < spins) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (waited.seconds() > seconds) break;
    }
    std::vector<int> missing;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      int done = 0;
      MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
      if (done == 0) missing.push_back(static_cast<int>(i));
    }
    return missing;
  }

  // Returns when all ranks have come here, or ends all ranks at the deadline and names those that have not: rank 0 sees
  // all of them, the others see it.
  void meet() {
    if (size_ == 1) return;
    char token = 0;
    constexpr int here = 1, go = 2;
    std::vector<MPI_Request> requests;
    std::vector<char> tokens(static_cast<std::size_t>(size_));
    if (rank_ == 0) {
      requests.resize(static_cast<std::size_t>(size_ - 1));
      for (int r = 1; r < size_; ++r) {
        const auto i = static_cast<std::size_t>(r - 1);
        MPI_Irecv(&tokens[i], 1, MPI_CHAR, r, here, MPI_COMM_WORLD, &requests[i]);
      }
      std::vector<int> missing = still_missing(requests, patience());
      for (int& r : missing) ++r;  // request i is that of rank i + 1
      if (!missing.empty()) end_all(complaint(missing));
      for (int r = 1; r < size_; ++r)
        MPI_Isend(&token, 1, MPI_CHAR, r, go, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(r - 1)]);
      const std::shared_ptr<void> watched = watch("waiting for the other ranks");
      MPI_Waitall(size_ - 1, requests.data(), MPI_STATUSES_IGNORE);
    } else {
      constexpr double later = 2;  // than rank 0, which may wait for another
      requests.resize(2);
      MPI_Isend(&token, 1, MPI_CHAR, 0, here, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(tokens.data(), 1, MPI_CHAR, 0, go, MPI_COMM_WORLD, &requests[1]);
      if (!still_missing(requests, patience() + later).empty()) end_all(complaint({0}));
    }
  }

  std::string complaint(const std::vector<int>& missing) const {
    const bool one = missing.size() == 1;
    return fmt::format(
        "rank{} {} {} not responded for {:.3g} s: stopped, hanging or slower than --deadline {:.3g}s allows",
        one ? "" : "s", fmt::join(missing, ", "), one ? "has" : "have", patience(), deadline_);
  }

  Watchdog& watchdog_;
  double deadline_ = kDefaultDeadline, allowance_ = 0;
  int rank_ = 0, size_ = 1, local_size_ = 1;
};

// All ranks fail alike, so one speaks.
int complain_once(const Team& team, const std::string& text, int code) {
  return team.rank() == 0 ? complain(command_name, text, code) : code;
}

int run(const std::vector<std::string>& words, MpiTeam& team) {
  try {
    const Command parsed = parse_command(words);
    if (const auto* const text = std::get_if<TextCommand>(&parsed)) {
      if (team.rank() == 0) fmt::print("{}", text->text);
      return kExitDone;
    }
    if (const auto* const pool = std::get_if<PoolCommand>(&parsed)) {
      team.set_deadline(pool->deadline);
      return run_pool_in_blocks(*pool, team);
    }
    const auto& pyramid = std::get<PyramidCommand>(parsed);
    team.set_deadline(pyramid.deadline);
    return run_pyramid_by(pyramid, team);
  } catch (const UsageError& e) {
    return complain_once(team, e.what(), kExitUsage);
  } catch (const std::bad_alloc&) {
    return complain_once(team, "out of memory", kExitFailure);
  } catch (const std::exception& e) {
    return complain_once(team, e.what(), kExitFailure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  handle_signals();
  if (argc > 1) command_name = std::string("oriel ") + argv[1];
  Watchdog watchdog(end_this);
  int level = 0;
  std::shared_ptr<void> watched = watchdog.watch(kDefaultDeadline, "MPI begins");
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MpiTeam team(watchdog);
  watched.reset();
  if (team.size() == 1 && tasks_of_launcher() > 1) {
    fmt::print(stderr,
               "{}: the launcher started {} tasks, but MPI has one rank; allowed: a launcher of the same MPI "
               "(with SLURM: srun --mpi=pmi2 or pmix), or ORIEL_MPI=none, which lets each task do all of the work\n",
               command_name, tasks_of_launcher());
    MPI_Finalize();
    return kExitFailure;
  }
  const int code = run(std::vector<std::string>(argv + 1, argv + argc), team);
  watched = team.watch("ending MPI");
  MPI_Finalize();
  watched.reset();
  return code;
}
