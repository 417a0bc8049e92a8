// MPI calls that fail, ranks that are late or die: an error with its code and peer, no hang, and nothing is lost.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "distributed/mpi/ranks.h"

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

using distributed::DistributedPool;
using distributed::MpiMethod;
using distributed::Partition;
using distributed::Pass;

constexpr double kShort = 1;  // seconds

DistributedPool row_pool(const Whole& whole, const Ranks& ranks, MpiMethod method, double deadline,
                         index_t most_bytes = 1 << 30) {
  const Partition inputs = Partition::balanced(whole.problem.shape, {1, 1, ranks.size, 1});
  return distributed::make_mpi_pool(
      whole.problem, inputs, centred_outputs(whole.problem, inputs), MPI_COMM_WORLD,
      {.method = method, .passes = passes_of(whole), .deadline = deadline, .most_bytes = most_bytes});
}

void expect_nothing_left(Ranks& ranks, const std::string& what) {
  ranks.expect(
      shim().live_requests == 0 && shim().live_types == 0,
      fmt::format("{}: {} requests and {} types were not freed", what, shim().live_requests, shim().live_types));
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
    } catch (const distributed::MpiError& e) {
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
  expect_nothing_left(ranks, what);
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

// A request or type that one rank cannot make: no rank's pool comes to be. That rank's error has the code and the peer,
// the others say whose it is, and what was made before is freed.
void check_unmade(Ranks& ranks, const Whole& whole, MpiMethod method, Shim::At at, const std::string& call) {
  const std::string what = call + " that fails";
  if (ranks.rank == 1) {
    shim().fault = at;
    shim().fault_in = 2;  // something was made before
    shim().fault_code = MPI_ERR_OTHER;
  }
  std::string error;
  int code = MPI_SUCCESS;
  index_t peer = -1;
  try {
    const Partition inputs = Partition::balanced(whole.problem.shape, {1, 1, ranks.size, 1});
    distributed::make_mpi_pool(
        whole.problem, inputs, centred_outputs(whole.problem, inputs), MPI_COMM_WORLD,
        {.method = method, .passes = passes_of(whole), .deadline = kShort, .most_bytes = 16, .most_sharers = 1});
  } catch (const distributed::MpiError& e) {
    error = e.what();
    code = e.code;
    peer = e.peer;
  } catch (const Error& e) {
    error = e.what();
  }
  shim().fault = Shim::At::none;
  const std::string said = fmt::format("distributed pool: {} failed with code {}", call, MPI_ERR_OTHER);
  const std::string wanted = ranks.rank == 1 ? said : "distributed pool: rank 1 says: " + said;
  ranks.expect(error.rfind(wanted, 0) == 0, fmt::format("{}: `{}` instead of `{}`", what, error, wanted));
  ranks.expect(code == (ranks.rank == 1 ? MPI_ERR_OTHER : MPI_SUCCESS), fmt::format("{}: code {}", what, code));
  ranks.expect(peer == (ranks.rank == 1 && at == Shim::At::send_init ? 0 : -1), fmt::format("{}: peer {}", what, peer));
  expect_nothing_left(ranks, what);
  MPI_Barrier(MPI_COMM_WORLD);
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
  const Whole whole(parse_problem("max:f32:1x2x24x24:k3x3s1p1"), Data::spread, random);
  check_fault(ranks, whole, MpiMethod::persistent, Shim::At::start, MPI_ERR_OTHER, true);
  check_fault(ranks, whole, MpiMethod::persistent, Shim::At::testsome, MPI_ERR_INTERN, false);
  check_fault(ranks, whole, MpiMethod::persistent, Shim::At::status, MPI_ERR_TRUNCATE, true);
  check_fault(ranks, whole, MpiMethod::neighbourhood, Shim::At::neighbour, MPI_ERR_OTHER, false);
  for (const MpiMethod method : kMethods) check_late_rank(ranks, whole, method);

  check_unmade(ranks, whole, MpiMethod::persistent, Shim::At::send_init, "MPI_Send_init with rank 0");
  check_unmade(ranks, whole, MpiMethod::neighbourhood, Shim::At::commit, "MPI_Type_commit");
  check_unmade(ranks, whole, MpiMethod::shared_memory, Shim::At::send_init, "MPI_Send_init with rank 0");
  check_lost_rank(ranks, whole);
  expect_nothing_left(ranks, "in the end");
}

// Ten thousand exchanges: nothing is allocated after the first, and memory does not grow.
void check_soak(Ranks& ranks) {
  std::mt19937_64 random(19);
  for (const MpiMethod method : kMethods) {
    const Whole whole(parse_problem("max:f32:1x2x12x10:k3x3s2p1"), Data::spread, random);
    DistributedPool pool = row_pool(whole, ranks, method, 60);
    RankParts parts(whole, pool.local(), false);
    const auto one = [&](Pass pass, int space) { pool.run(pass, parts.operands(pass, space), {.threads = 1}); };
    const auto all = [&] {
      one(Pass::forward, static_cast<int>(IndexSpace::plane));
      one(Pass::forward, static_cast<int>(IndexSpace::window));
      one(Pass::backward_indices, -1);
      one(Pass::backward_inputs, -1);
    };
    long first = 0;
    constexpr int kRuns = 2500, kParts = 5;  // of four exchanges
    std::array<std::size_t, kParts> used{};  // at the end of each part
    for (int i = 0; i < kRuns; ++i) {
      if (i == 1) first = allocations.load();
      all();
      constexpr int kPart = kRuns / kParts;
      if ((i + 1) % kPart == 0) used[static_cast<std::size_t>(i / kPart)] = mallinfo2().uordblks;
    }
    const long made = allocations.load() - first;
    ranks.expect(made == 0, fmt::format("method {}: {} allocations after the first exchange of each pass",
                                        static_cast<int>(method), made));
    // An MPI library may add to its stores once or twice; what leaks eight bytes an exchange grows from part to part.
    bool leaks = true;
    for (std::size_t part = 1; part < used.size(); ++part)
      leaks &= used[part] >= used[part - 1] + 8 * 4 * kRuns / kParts;
    ranks.expect(!leaks, fmt::format("method {}: memory grew from part to part, from {} to {} bytes",
                                     static_cast<int>(method), used.front(), used.back()));
    ranks.expect_equal(parts.judge(Pass::backward_inputs), "", "the last exchange");
    ranks.expect(
        pool.traffic().messages_sent == 4 * kRuns * pool.local().traffic(Pass::forward).messages_sent || ranks.size > 1,
        "the number of messages");
  }
  expect_nothing_left(ranks, "ten thousand exchanges of each method");
}

// Rank 1 is killed in the middle of an exchange: others wait for a message that does not come. The run must end, and
// not well.
void die_in_exchange(Ranks& ranks) {
  std::mt19937_64 random(23);
  const Whole whole(parse_problem("max:f32:1x2x48x48:k3x3s1p1"), Data::spread, random);
  const char* method = std::getenv("ORIEL_TEST_METHOD");
  DistributedPool pool =
      row_pool(whole, ranks, method == nullptr ? MpiMethod::persistent : kMethods[std::atoi(method)], 3);
  RankParts parts(whole, pool.local(), false);
  for (int i = 0;; ++i) {
    try {
      if (ranks.rank == 1 && i == 20) {
        pool.start(Pass::forward, parts.operands(Pass::forward), {.threads = 1});
        kill(getpid(), SIGKILL);
      }
      pool.run(Pass::forward, parts.operands(Pass::forward), {.threads = 1});
    } catch (const Error& e) {
      fmt::print("rank {}: {}\n", ranks.rank, e.what());
      std::fflush(stdout);
      std::_Exit(3);  // MPI_Finalize would wait for the dead
    }
  }
}

}  // namespace oriel::test
