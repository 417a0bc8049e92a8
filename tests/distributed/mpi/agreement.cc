// Ranks that disagree, and calls that do not fit: the same error everywhere, before anything hangs.
#include <chrono>

#include "distributed/mpi/ranks.h"

namespace oriel::test {
namespace {

using distributed::MpiOptions;
using distributed::Partition;

struct Given {
  std::string problem = "max:f32:1x1x24x24:k3x3s2p1";
  Extents grid;
  MpiOptions options{.deadline = 20};
  bool shifted = false;  // the cuts lie elsewhere
};

// Builds the pool of what this rank gives; every rank must throw the same, which must contain `words`.
void check_refused(Ranks& ranks, const char* what, const Given& given, const std::string& words) {
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t sends = shim().sends;
  const std::string error = error_of([&] {
    const Problem problem = parse_problem(given.problem);
    Partition inputs = Partition::balanced(problem.shape, given.grid);
    if (given.shifted) {
      std::vector<distributed::Cuts> cuts;
      for (int a = 0; a < inputs.rank(); ++a) cuts.push_back(inputs.along(a));
      std::vector<index_t> bounds = cuts[2].bounds();
      ++bounds[1];
      cuts[2] = distributed::Cuts(bounds);
      inputs = Partition(cuts);
    }
    distributed::make_mpi_pool(problem, inputs, centred_outputs(problem, inputs), MPI_COMM_WORLD, given.options);
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ranks.expect(shim().sends == sends, fmt::format("{}: a message was sent", what));
  ranks.expect(error.find(words) != std::string::npos, fmt::format("{}: `{}` lacks `{}`", what, error, words));
  ranks.expect_equal(error, ranks.text_of(0, error), fmt::format("{}: not the error of rank 0", what));
  ranks.expect(took.count() < 10, fmt::format("{}: took {} s", what, took.count()));
}

// Operands that do not fit are refused before any message, and the pool goes on.
void check_operands(Ranks& ranks, const Problem& problem, const Partition& inputs) {
  std::mt19937_64 random(5);
  const Whole whole(problem, Data::spread, random);
  distributed::DistributedPool pool =
      distributed::make_mpi_pool(problem, inputs, centred_outputs(problem, inputs), MPI_COMM_WORLD, {.deadline = 20});
  RankParts parts(whole, pool.local(), false);
  distributed::Operands bad = parts.operands(distributed::Pass::forward);
  bad.x.dtype = Dtype::i32;
  ranks.expect_equal(error_of([&] { pool.start(distributed::Pass::forward, bad); }),
                     "distributed max_pool forward: x must have dtype f32, but has i32", "bad operand");
  ranks.expect_equal(error_of([&] { pool.finish(distributed::Pass::forward); }),
                     "distributed pool: finish of the forward pass must follow its start", "no start");
  ranks.expect_equal(error_of([&] { pool.start(distributed::Pass::backward_inputs, bad); }),
                     "distributed pool: the pass must be among those that were opened, but is backward_inputs",
                     "a pass that was not opened");
  pool.start(distributed::Pass::forward, parts.operands(distributed::Pass::forward), {.threads = 1});
  ranks.expect_equal(
      error_of([&] { pool.start(distributed::Pass::forward, parts.operands(distributed::Pass::forward)); }),
      "distributed pool: the forward pass must be finished before it starts again", "started twice");
  pool.finish(distributed::Pass::forward);
  ranks.expect_equal(parts.judge(distributed::Pass::forward), "", "after errors");
}

}  // namespace

void check_agreement(Ranks& ranks) {
  const bool last = ranks.rank == ranks.size - 1;
  const Extents fits = {1, 1, ranks.size, 1};
  const auto one_differs = [&](const char* what, auto&& change, const std::string& words) {
    Given given{.grid = fits};
    if (last) change(given);
    check_refused(ranks, what, given, words);
  };
  const std::string same = "distributed pool: every rank must give the same ";
  one_differs(
      "shape", [](Given& g) { g.problem = "max:f32:1x1x24x25:k3x3s2p1"; }, same + "problem, but rank 0 gives max:");
  one_differs(
      "dtype", [](Given& g) { g.problem = "max:f64:1x1x24x24:k3x3s2p1"; }, "max:f64:1x1x24x24:k3x3s2p1");
  one_differs(
      "kernel", [](Given& g) { g.problem = "max:f32:1x1x24x24:k5x5s2p2"; }, same + "problem");
  one_differs(
      "partition", [](Given& g) { g.shifted = true; }, same + "partition of the input");
  one_differs(
      "method", [](Given& g) { g.options.method = distributed::MpiMethod::neighbourhood; }, same + "options");
  one_differs(
      "passes", [](Given& g) { g.options.passes = {distributed::Pass::forward}; }, same + "options");
  // What one rank alone finds wrong is told by all.
  const Extents too_many = {1, 1, ranks.size + 1, 1};
  one_differs(
      "parts", [&](Given& g) { g.grid = too_many; }, same + "partition of the input");
  check_refused(
      ranks, "size", {.grid = too_many},
      fmt::format("rank 0 says: distributed pool: the partition must have as many parts as comm has ranks, {}, "
                  "but has {}",
                  ranks.size, ranks.size + 1));
  check_refused(ranks, "pass", {.grid = fits, .options = {.passes = {distributed::Pass::backward}, .deadline = 20}},
                "a pool of max with dtype f32 must use another pass");
  check_refused(ranks, "most_bytes", {.grid = fits, .options = {.deadline = 20, .most_bytes = 0}},
                "most_bytes must be 1 to 2147483647, but is 0");
  check_refused(ranks, "deadline", {.grid = fits, .options = {.deadline = -1}}, "deadline must be > 0 s, but is -1");

  const Problem problem = parse_problem("max:f32:1x1x24x24:k3x3s2p1");
  const Partition inputs = Partition::balanced(problem.shape, fits);
  ranks.expect_equal(
      error_of([&] { distributed::make_mpi_pool(problem, inputs, centred_outputs(problem, inputs), MPI_COMM_NULL); }),
      "distributed pool: comm must be a communicator, but is MPI_COMM_NULL", "no communicator");
  ranks.expect_equal(
      error_of([&] {
        distributed::make_mpi_pool(problem, inputs, Partition::balanced(problem.shape, fits), MPI_COMM_WORLD);
      }),
      "distributed pool: rank 0 says: halo plan: the partition of the output must cover shape 1x1x12x12, "
      "but covers 1x1x24x24",
      "a partition that does not cover");
  check_operands(ranks, problem, inputs);
}

}  // namespace oriel::test
