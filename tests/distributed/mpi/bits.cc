// The bits of the undivided call, over each way of messages; counts of messages and bytes.
#include "distributed/mpi/ranks.h"
#include "distributed/statistics.h"
#include "pool/random_problem.h"

namespace oriel::test {
namespace {

using distributed::DistributedPool;
using distributed::Partition;
using distributed::Pass;

constexpr double kDeadline = 60;

// Elements of a mask or weights beside a box of x: one along axes that they lack.
index_t count_beside(const Extents& whole, const Extents& x_shape, const distributed::Box& box) {
  index_t count = 1;
  for (int d = 0; d < x_shape.size(); ++d) count *= !whole.empty() && whole[d] != x_shape[d] ? 1 : box.along(d).size();
  return count;
}

// What the plan says that rank sends in a pass: one message for each rank that needs something.
distributed::Traffic formula(const distributed::LocalPool& pool, Pass pass, index_t rank) {
  const distributed::HaloPlan& plan = pool.plan();
  const Problem& p = plan.problem();
  const index_t taps = p.taps(), code = taps < 0xff ? 1 : taps < 0xffff ? 2 : 4;
  struct Travelling {
    distributed::Exchange exchange;
    index_t bytes;
    Extents beside = {};
  };
  std::vector<Travelling> travelling;
  if (pass != Pass::forward) travelling.push_back({plan.backward(rank), size_bytes(p.result)});
  if (pass == Pass::backward_indices) travelling.push_back({plan.backward(rank), code});
  if (pass == Pass::forward || pass == Pass::backward_inputs) {
    const distributed::Exchange inputs = pass == Pass::forward ? plan.forward(rank) : plan.backward_inputs(rank);
    const distributed::Beside& beside = pool.beside();
    travelling.push_back({inputs, size_bytes(p.dtype)});
    if (!beside.mask.empty()) travelling.push_back({inputs, 1, beside.mask});
    if (!beside.weights.empty()) travelling.push_back({inputs, size_bytes(beside.weights_dtype), beside.weights});
  }
  distributed::Traffic t;
  std::vector<index_t> to, from;
  for (const auto& [exchange, size, beside] : travelling) {
    for (const distributed::Piece& piece : exchange.send) {
      t.bytes_sent += count_beside(beside, p.shape, piece.box) * size;
      if (std::find(to.begin(), to.end(), piece.rank) == to.end()) to.push_back(piece.rank);
    }
    for (const distributed::Piece& piece : exchange.receive) {
      t.bytes_received += count_beside(beside, p.shape, piece.box) * size;
      if (std::find(from.begin(), from.end(), piece.rank) == from.end()) from.push_back(piece.rank);
    }
  }
  t.messages_sent = static_cast<index_t>(to.size());
  t.messages_received = static_cast<index_t>(from.size());
  return t;
}

void check_case(Ranks& ranks, const Whole& whole, const Partition& inputs, const Partition& outputs,
                const distributed::MpiOptions& options) {
  const std::string what = fmt::format("{}, method {}, inputs {} outputs {}", to_string(whole.problem),
                                       static_cast<int>(options.method), text(inputs), text(outputs));
  std::string wrong = error_of([&] {
    DistributedPool pool = distributed::make_mpi_pool(whole.problem, inputs, outputs, MPI_COMM_WORLD, options);
    RankParts parts(whole, pool.local(), ranks.rank % 2 == 1);
    const bool counted = options.method == distributed::MpiMethod::persistent && options.most_bytes > 1 << 20;
    distributed::Traffic expected;
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::string differs = check_passes(whole, parts, [&](Pass pass, const distributed::Operands& operands) {
        const distributed::Traffic each = formula(pool.local(), pass, ranks.rank);
        const std::int64_t sends = shim().sends, bytes = shim().bytes;
        pool.run(pass, operands, {.threads = 1});
        expected.messages_sent += each.messages_sent;
        expected.messages_received += each.messages_received;
        expected.bytes_sent += each.bytes_sent;
        expected.bytes_received += each.bytes_received;
        ranks.expect(pool.traffic() == expected, what + ": another number of messages or bytes than the plan says");
        if (counted) {
          ranks.expect(shim().sends - sends == each.messages_sent && shim().bytes - bytes == each.bytes_sent,
                       what + ": MPI was given another number of messages or bytes than the plan says");
        }
      });
      ranks.expect_equal(differs, "", what);
    }
  });
  ranks.expect_equal(wrong, "", what);
}

// What `oriel scale` counts, from ranks of each kind, is what all ranks together were given.
void check_kinds(Ranks& ranks) {
  std::mt19937_64 random(53);
  for (const char* name :
       {"max:f32:1x2x31x33:k3x3s2p1", "avg:f32:1x1x20x9x24:k4x3x5s2x3x1p2x1x2", "lp2:f32:200:k7s3p3:axes0"}) {
    const Whole whole(parse_problem(name), Data::spread, random);
    Extents grid = Extents::filled(whole.problem.shape.size(), 1);
    grid[grid.size() - 1] = ranks.size % 2 == 0 && grid.size() > 1 ? 2 : ranks.size;
    if (grid.size() > 1) grid[grid.size() - 2] = ranks.size / grid[grid.size() - 1];
    const Partition inputs = Partition::balanced(whole.problem.shape, grid);
    const Partition outputs = centred_outputs(whole.problem, inputs);
    DistributedPool pool = distributed::make_mpi_pool(whole.problem, inputs, outputs, MPI_COMM_WORLD,
                                                      {.passes = passes_of(whole), .deadline = kDeadline});
    RankParts parts(whole, pool.local(), false);
    const std::int64_t sends = shim().sends, bytes = shim().bytes;
    std::int64_t mine[2] = {0, 0}, real[2], predicted[2] = {0, 0};
    ranks.expect_equal(
        check_passes(whole, parts,
                     [&](Pass pass, const distributed::Operands& operands) {
                       pool.run(pass, operands, {.threads = 1});
                       for (const auto& kind : pool.local().plan().kinds()) {
                         const distributed::Traffic t =
                             distributed::LocalPool(whole.problem, inputs, outputs, kind.rank).traffic(pass);
                         predicted[0] += kind.count * t.messages_sent;
                         predicted[1] += kind.count * t.bytes_sent;
                       }
                     }),
        "", name);
    mine[0] = shim().sends - sends;
    mine[1] = shim().bytes - bytes;
    MPI_Allreduce(mine, real, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    ranks.expect(real[0] == predicted[0] && real[1] == predicted[1],
                 fmt::format("{}: MPI was given {} messages and {} bytes, {} and {} were predicted", name, real[0],
                             real[1], predicted[0], predicted[1]));
  }
}

// The same on every rank, since the seed is.
void check_random_cases(Ranks& ranks, int cases, unsigned seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < cases; ++i) {
    if (i % 6 == 0 && ranks.failed()) return;
    const index_t size = i % 4 == 0 ? 2000 : 200;
    const Whole whole = i % 2 == 0 ? Whole(random_problem(random, size), kAllData[random() % 4], random)
                                   : random_whole_statistic(random, size);
    const Problem& problem = whole.problem;
    const Partition inputs = random_partition(random, problem.shape, ranks.size);
    const Partition outputs = random() % 2 == 0 ? centred_outputs(problem, inputs)
                                                : random_partition(random, problem.output_shape, ranks.size);
    distributed::MpiOptions options{
        .method = kMethods[i % 3], .passes = passes_of(whole), .deadline = kDeadline, .beside = whole.beside.shapes};
    if (random() % 3 == 0) options.most_bytes = pick(random, 1, 100);                    // messages in many parts
    if (random() % 2 == 0) options.most_sharers = static_cast<int>(pick(random, 1, 3));  // several nodes
    check_case(ranks, whole, inputs, outputs, options);
  }
}

// DistDL's own test cases (its tests/layers/test_pooling.py), by their balanced partitions, and larger ones.
void check_known_cases(Ranks& ranks) {
  std::mt19937_64 random(7);
  const char* names[] = {"max:f32:1x1x10x10:k3x3s1p1",   "avg:f32:1x1x10x10:k5x5s2p2",
                         "max:f32:1x1x6x10:k5x5s4p2",    "avg:f32:1x1x5x5x6:k5s2x2x1p2",
                         "max:f32:2x8x150x150:k7x7s1p3", "avg:f16:1x4x64x64:k3x3s2p1:exclude"};
  std::size_t turn = 0;
  for (const char* problem_name : names) {
    const Problem problem = parse_problem(problem_name);
    const Whole whole(problem, Data::spread, random);
    Extents grid = Extents::filled(problem.shape.size(), 1);
    grid[problem.shape.size() - 1] = ranks.size % 3 == 0 ? 3 : 1;
    grid[problem.shape.size() - 2] = ranks.size / grid[problem.shape.size() - 1];
    const Partition inputs = Partition::balanced(problem.shape, grid);
    for (const distributed::MpiMethod method : kMethods) {
      if (ranks.size > 7 && method != kMethods[turn++ % 3]) continue;
      const distributed::MpiOptions options{.method = method, .passes = passes_of(whole), .deadline = kDeadline};
      check_case(ranks, whole, inputs, Partition::balanced(problem.output_shape, grid), options);
    }
  }
}

// Two pools and two passes at once, on a communicator where other messages wait for anyone who takes them.
void check_several_at_once(Ranks& ranks) {
  std::mt19937_64 random(11);
  const Whole a(parse_problem("max:f32:1x2x24x24:k3x3s2p1"), Data::spread, random);
  const Whole b(parse_problem("avg:f64:1x2x24x24:k4x4s1p2"), Data::spread, random);
  const Extents grid = {1, 1, ranks.size, 1};
  const auto pool_of = [&](const Whole& w) {
    const Partition inputs = Partition::balanced(w.problem.shape, grid);
    return distributed::make_mpi_pool(w.problem, inputs, centred_outputs(w.problem, inputs), MPI_COMM_WORLD,
                                      {.deadline = kDeadline});
  };
  DistributedPool first = pool_of(a), second = pool_of(b);
  RankParts first_parts(a, first.local(), false), second_parts(b, second.local(), false);
  int any = -1, mine = ranks.rank;  // a user's own receive of anything from anyone
  MPI_Request receive, send;
  MPI_Irecv(&any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
  first.run(Pass::forward, first_parts.operands(Pass::forward, static_cast<int>(IndexSpace::window)), {.threads = 1});
  first.start(Pass::backward_indices, first_parts.operands(Pass::backward_indices), {.threads = 1});
  second.start(Pass::forward, second_parts.operands(Pass::forward), {.threads = 1});
  second.start(Pass::backward, second_parts.operands(Pass::backward), {.threads = 1});
  second.interior(Pass::backward);
  first.interior(Pass::backward_indices);
  second.finish(Pass::forward);
  first.finish(Pass::backward_indices);
  second.finish(Pass::backward);
  ranks.expect_equal(first_parts.judge(Pass::backward_indices), "", "two pools at once");
  ranks.expect_equal(second_parts.judge(Pass::forward), "", "two passes at once");
  ranks.expect_equal(second_parts.judge(Pass::backward), "", "two passes at once");
  MPI_Isend(&mine, 1, MPI_INT, (ranks.rank + 1) % ranks.size, 1, MPI_COMM_WORLD, &send);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  ranks.expect(any == (ranks.rank + ranks.size - 1) % ranks.size, "a message of the pool reached the user");
}

// A part of the ranks, in reversed order.
void check_reversed_ranks(Ranks& ranks) {
  const int colour = ranks.rank == 0 && ranks.size > 1 ? MPI_UNDEFINED : 0;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, colour, -ranks.rank, &part);
  if (part == MPI_COMM_NULL) return;
  int size = 0, rank = 0;
  MPI_Comm_size(part, &size);
  MPI_Comm_rank(part, &rank);
  std::mt19937_64 random(13);
  const Whole whole(parse_problem("min:f32:1x1x40x30:k3x3s2p1"), Data::specials, random);
  const Partition inputs = Partition::balanced(whole.problem.shape, {1, 1, size, 1});
  DistributedPool pool = distributed::make_mpi_pool(whole.problem, inputs, centred_outputs(whole.problem, inputs), part,
                                                    {.passes = passes_of(whole), .deadline = kDeadline});
  MPI_Comm_free(&part);  // the pool has its own
  RankParts parts(whole, pool.local(), false);
  ranks.expect(pool.local().rank() == rank, "ranks are those of the communicator");
  const std::string wrong = check_passes(whole, parts, [&](Pass pass, const distributed::Operands& operands) {
    pool.run(pass, operands, {.threads = 1});
  });
  ranks.expect_equal(wrong, "", "reversed ranks");
}

}  // namespace

void check_bits(Ranks& ranks) {
  check_known_cases(ranks);
  check_kinds(ranks);
  check_several_at_once(ranks);
  check_reversed_ranks(ranks);
  // Many ranks on few cores wait for each other's turns.
  const int cases = ranks.size > 7 ? 12 : ranks.size > 3 ? 24 : 90;
  check_random_cases(ranks, cases, 1);
  const char* asked = std::getenv("ORIEL_SEED");
  unsigned fresh = asked != nullptr ? static_cast<unsigned>(std::stoul(asked)) : std::random_device{}();
  MPI_Bcast(&fresh, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  if (ranks.rank == 0) fmt::print("fresh seed {} (repeat with ORIEL_SEED={})\n", fresh, fresh);
  check_random_cases(ranks, cases / 2, fresh);
}

void check_disturbed_bits(Ranks& ranks) {
  shim().disturb = true;
  shim().random.seed(static_cast<unsigned>(ranks.rank) + 1);
  check_random_cases(ranks, 24, 3);
  check_several_at_once(ranks);
  shim().disturb = false;
  ranks.expect(shim().disturbed > 20, fmt::format("only {} calls were disturbed", shim().disturbed));
}

}  // namespace oriel::test
