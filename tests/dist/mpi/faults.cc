// MPI calls that fail, ranks that are late or die: an error with its code and peer, no hang, and nothing is lost.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "dist/mpi/ranks.h"

namespace {
std::atomic<long> allocations{0};
}

// Every allocation of C++ code; MPI itself is C.
void* operator new(std::size_t size) {
  ++allocations;
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  void* p = std::aligned_alloc(static_cast<std::size_t>(alignment), (size + 63) / 64 * 64);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace oriel::test {
namespace {

using dist::DistributedPool;
using dist::MpiMethod;
using dist::Partition;
using dist::Pass;

constexpr double kShort = 1;  // seconds

DistributedPool row_pool(const Whole& whole, const Ranks& ranks, MpiMethod method, double deadline) {
  const Partition inputs = Partition::balanced(whole.problem.shape, {1, 1, ranks.size, 1});
  return dist::make_mpi_pool(whole.problem, inputs, centred_outputs(whole.problem, inputs), MPI_COMM_WORLD,
                             {.method = method, .passes = passes_of(whole), .deadline = deadline});
}

// A run in which `rank` meets a fault. That rank must throw `code`; others may throw for want of its message.
// Afterwards a new pool on the same communicator works.
void check_fault(Ranks& ranks, const Whole& whole, MpiMethod method, Shim::At at, int code, bool names_peer) {
  const std::string what = fmt::format("fault {} of method {}", static_cast<int>(at), static_cast<int>(method));
  const auto begin = std::chrono::steady_clock::now();
  const bool mine = ranks.rank == 1;
  {
    DistributedPool pool = row_pool(whole, ranks, method, kShort);
    RankParts parts(whole, pool.local(), false);
    pool.run(Pass::forward, parts.operands(Pass::forward), {.threads = 1});
    if (mine) {
      shim().fault = at;
      shim().fault_in = 1;
      shim().fault_code = code;
    }
    bool thrown = false;
    try {
      pool.run(Pass::forward, parts.operands(Pass::forward), {.threads = 1});
    } catch (const dist::MpiError& e) {
      thrown = true;
      ranks.expect(mine, fmt::format("{}: an error where there was no fault: {}", what, e.what()));
      ranks.expect(e.code == code, fmt::format("{}: code {} instead of {}", what, e.code, code));
      ranks.expect(std::string(e.what()).find("failed with code") != std::string::npos, e.what());
      ranks.expect(!names_peer || e.peer == 0 || e.peer == 2, fmt::format("{}: peer {}", what, e.peer));
    } catch (const Error& e) {
      thrown = true;
      ranks.expect(!mine, fmt::format("{}: without a code: {}", what, e.what()));
    }
    ranks.expect(thrown || !mine, fmt::format("{}: nothing was thrown", what));
    if (thrown) {
      const std::string again =
          error_of([&] { pool.start(Pass::forward, parts.operands(Pass::forward), {.threads = 1}); });
      ranks.expect_equal(again, "distributed pool: the forward pass has failed before and must not be used", what);
    }
    shim().fault = Shim::At::none;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ranks.expect(took.count() < 10 * kShort, fmt::format("{}: took {} s", what, took.count()));
  DistributedPool pool = row_pool(whole, ranks, method, 20);
  RankParts parts(whole, pool.local(), false);
  pool.run(Pass::forward, parts.operands(Pass::forward), {.threads = 1});
  ranks.expect_equal(parts.judge(Pass::forward), "", what + ": afterwards");
  MPI_Barrier(MPI_COMM_WORLD);
}

// A rank that does not come: the others say so when the deadline is over.
void check_late_rank(Ranks& ranks, const Whole& whole, MpiMethod method) {
  std::string error;
  {
    DistributedPool pool = row_pool(whole, ranks, method, kShort);
    RankParts parts(whole, pool.local(), false);
    if (ranks.rank != 0) {
      const auto begin = std::chrono::steady_clock::now();
      error = error_of([&] { pool.run(Pass::forward, parts.operands(Pass::forward), {.threads = 1}); });
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      ranks.expect(took.count() < 5 * kShort, fmt::format("a late rank: {} s", took.count()));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (ranks.rank != 1) return;  // the one whose windows need rank 0
  const std::string expected =
      method == MpiMethod::neighbourhood
          ? "distributed pool: every rank must join MPI_Ineighbor_alltoallw within 1 s, but not all have"
          : "distributed pool: rank 0 must send its message within 1 s, but has not";
  ranks.expect_equal(error, expected, fmt::format("a late rank, method {}", static_cast<int>(method)));
}

// A rank that never gives its pool back: the others do not wait for it for ever.
void check_lost_rank(Ranks& ranks, const Whole& whole) {
  auto pool = std::make_unique<DistributedPool>(row_pool(whole, ranks, MpiMethod::shared_memory, kShort));
  const auto begin = std::chrono::steady_clock::now();
  if (ranks.rank == 0)
    (void)pool.release();
  else
    pool.reset();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ranks.expect(took.count() < 5 * kShort, fmt::format("a lost rank: {} s", took.count()));
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

void check_faults(Ranks& ranks) {
  std::mt19937_64 random(17);
  const Whole whole(parse_problem("max:f32:1x2x24x24:k3s1p1"), Data::spread, random);
  check_fault(ranks, whole, MpiMethod::persistent, Shim::At::start, MPI_ERR_OTHER, true);
  check_fault(ranks, whole, MpiMethod::persistent, Shim::At::testsome, MPI_ERR_INTERN, false);
  check_fault(ranks, whole, MpiMethod::persistent, Shim::At::status, MPI_ERR_TRUNCATE, true);
  check_fault(ranks, whole, MpiMethod::neighbourhood, Shim::At::neighbour, MPI_ERR_OTHER, false);
  for (const MpiMethod method : kMethods) check_late_rank(ranks, whole, method);

  // A request that cannot be made: this rank's pool does not come to be.
  if (ranks.rank == 1) {
    shim().fault = Shim::At::send_init;
    shim().fault_in = 1;
    shim().fault_code = MPI_ERR_OTHER;
  }
  const std::string error = error_of([&] { row_pool(whole, ranks, MpiMethod::persistent, kShort); });
  ranks.expect(error.empty() == (ranks.rank != 1), fmt::format("a request that cannot be made: `{}`", error));
  MPI_Barrier(MPI_COMM_WORLD);
  check_lost_rank(ranks, whole);
}

// Ten thousand exchanges: nothing is allocated after the first, and memory does not grow.
void check_soak(Ranks& ranks) {
  std::mt19937_64 random(19);
  for (const MpiMethod method : kMethods) {
    const Whole whole(parse_problem("max:f32:1x2x12x10:k3s2p1"), Data::spread, random);
    DistributedPool pool = row_pool(whole, ranks, method, 60);
    RankParts parts(whole, pool.local(), false);
    const auto one = [&](Pass pass, int space) { pool.run(pass, parts.operands(pass, space), {.threads = 1}); };
    const auto all = [&] {
      one(Pass::forward, static_cast<int>(IndexSpace::plane));
      one(Pass::forward, static_cast<int>(IndexSpace::window));
      one(Pass::backward_places, -1);
      one(Pass::backward_inputs, -1);
    };
    long first = 0;
    std::size_t used = 0;
    constexpr int kRuns = 2500;  // of four exchanges
    for (int i = 0; i < kRuns; ++i) {
      if (i == 2) first = allocations.load();
      if (i == kRuns / 5) used = mallinfo2().uordblks;
      all();
    }
    const long made = allocations.load() - first;
    ranks.expect(made == 0,
                 fmt::format("method {}: {} allocations after the first exchanges", static_cast<int>(method), made));
    const std::size_t now = mallinfo2().uordblks;
    ranks.expect(now < used + (std::size_t{128} << 10),
                 fmt::format("method {}: memory grew from {} to {} bytes", static_cast<int>(method), used, now));
    ranks.expect_equal(parts.judge(Pass::backward_inputs), "", "the last exchange");
    ranks.expect(
        pool.traffic().messages_sent == 4 * kRuns * pool.local().traffic(Pass::forward).messages_sent || ranks.size > 1,
        "the number of messages");
  }
}

// Rank 1 is killed between two exchanges of a long series; the run must end, and not well.
void die_in_exchange(Ranks& ranks) {
  std::mt19937_64 random(23);
  const Whole whole(parse_problem("max:f32:1x2x48x48:k3s1p1"), Data::spread, random);
  const char* method = std::getenv("ORIEL_TEST_METHOD");
  DistributedPool pool =
      row_pool(whole, ranks, method == nullptr ? MpiMethod::persistent : kMethods[std::atoi(method)], 3);
  RankParts parts(whole, pool.local(), false);
  for (int i = 0;; ++i) {
    if (ranks.rank == 1 && i == 20) kill(getpid(), SIGKILL);
    try {
      pool.run(Pass::forward, parts.operands(Pass::forward), {.threads = 1});
    } catch (const Error& e) {
      fmt::print("rank {}: {}\n", ranks.rank, e.what());
      std::fflush(stdout);
      std::_Exit(3);  // MPI_Finalize would wait for the dead
    }
  }
}

}  // namespace oriel::test
