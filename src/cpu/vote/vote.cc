#include "cpu/vote/vote.h"

#include <algorithm>
#include <cmath>

#include "cpu/runtime/parallel.h"
#include "cpu/tap_rows/tap_rows.h"
#include "cpu/vote/sorting.h"
#include "cpu/vote/vote_kernels.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool is_signed_integer(Dtype dtype) {
  return dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32 || dtype == Dtype::i64;
}

// The bits of a value of `dtype`.
std::uint64_t bits_of(const Scalar& value, Dtype dtype) {
  std::uint64_t bits = 0;
  detail::store(value, dtype, &bits);
  return bits;
}

// What a window without enough valid taps gives.
Scalar fill_of(const Problem& problem) {
  const Pool& pool = problem.pool;
  if (pool.fill) return *pool.fill;
  if (pool.nodata && detail::is_representable(*pool.nodata, problem.result)) return *pool.nodata;
  if (is_floating(problem.result)) return std::numeric_limits<double>::quiet_NaN();
  return std::int64_t{0};
}

VoteRule rule_of(const Problem& problem) {
  const Pool& pool = problem.pool;
  VoteRule rule{.distinct = pool.op == Op::nunique, .first = pool.tie == Tie::first};
  rule.has_ignore = pool.ignore.has_value();
  if (rule.has_ignore) rule.ignore = bits_of(*pool.ignore, problem.dtype);
  rule.has_nodata = pool.nodata.has_value();
  if (rule.has_nodata) rule.nodata = bits_of(*pool.nodata, problem.dtype);
  if (is_signed_integer(problem.dtype)) rule.flip = std::uint64_t{1} << (8 * size_bytes(problem.dtype) - 1);
  if (pool.tie == Tie::highest) rule.flip = ~rule.flip;
  if (!rule.distinct) rule.fill = bits_of(fill_of(problem), problem.result);
  return rule;
}

// The least number of valid taps of `has` that is enough (S14).
index_t enough_of(const Pool& pool, index_t has) {
  const double share = std::ceil(pool.min_fraction * static_cast<double>(has));
  return std::max({pool.min_count, detail::needed_taps(pool), static_cast<index_t>(share)});
}

// What sorts a number of taps.
struct Network {
  const std::uint8_t* places = nullptr;  // of every comparator two
  int comparators = 0;
};

// The votes of one thread.
class Voter {
 public:
  Voter(const TapPlan& plan, Arena& arena)
      : problem_(plan.job.problem),
        rule_(rule_of(problem_)),
        vote_(vote_kernel(plan.in_bytes, problem_.dtype == Dtype::boolean, rule_, plan.job.mask != nullptr)),
        taps_(problem_.taps()),
        here_(arena.take_array<const void*>(taps_)),
        masks_(arena.take_array<const void*>(taps_)),
        arena_(arena) {
    detail::store(fill_of(problem_), problem_.result, fill_.data());
    if (rule_.distinct) numbers_ = arena.take(plan.tile_outputs * plan.lanes * plan.in_bytes);
  }

  void operator()(const TapRun& run) {
    const index_t need = enough_of(problem_.pool, run.has);
    if (run.has < need)
      return fill_copies(static_cast<std::byte*>(run.y), fill_.data(), size_bytes(problem_.result), run.n);
    VoteRows rows{.taps = here_, .masks = run.masks != nullptr ? masks_ : nullptr, .need = static_cast<int>(need)};
    for (index_t t = 0; t < taps_; ++t) {
      if (run.taps[t] == nullptr) continue;
      if (run.masks != nullptr) masks_[rows.count] = run.masks[t];
      here_[rows.count++] = run.taps[t];
    }
    rows.pairs = run.pairs;
    rows.ahead = run.ahead;
    rows.n = run.n;
    rows.out = rule_.distinct ? numbers_ : run.y;
    const Network& network = network_of(rows.count);
    rows.network = network.places;
    rows.comparators = network.comparators;
    vote_(rows, rule_);
    if (!rule_.distinct) return;
    store_distinct(numbers_, size_bytes(problem_.dtype), run.n, problem_.result, fill_.data(), run.y);
  }

 private:
  // Windows at the borders have other numbers of taps, row by row.
  const Network& network_of(int count) {
    Network& network = networks_[at(count)];
    if (network.places != nullptr) return network;
    network.comparators = comparator_count(count);
    auto* place = arena_.take_array<std::uint8_t>(2 * index_t{network.comparators} + 1);
    network.places = place;
    each_comparator(count, [&](int a, int b) {
      *place++ = static_cast<std::uint8_t>(a);
      *place++ = static_cast<std::uint8_t>(b);
    });
    return network;
  }

  const Problem& problem_;
  const VoteRule rule_;
  const Vote vote_;
  const index_t taps_;
  const void** here_;
  const void** masks_;
  std::byte* numbers_ = nullptr;
  alignas(8) std::array<std::byte, 8> fill_{};
  Arena& arena_;
  std::array<Network, kMostVoteTaps + 1> networks_{};
};

}  // namespace

bool can_vote(const Statistic& job) {
  const Problem& problem = job.problem;
  const Op op = problem.pool.op;
  if ((op != Op::mode && op != Op::nunique) || is_floating(problem.dtype)) return false;
  if (op == Op::mode && problem.result != problem.dtype) return false;
  return problem.taps() <= kMostVoteTaps && TapPlan::can(job);
}

void run_vote(const Statistic& job, int threads) {
  const TapPlan plan(job, rule_of(job.problem).first ? TapPairs::in_order : TapPairs::any);
  parallel_for(plan.items(), plan.item_bytes(), threads, [&](index_t begin, index_t end) {
    Arena arena;
    TapReader reader(plan, arena);
    Voter voter(plan, arena);
    reader.each_run(begin, end, voter);
  });
}

}  // namespace oriel::cpu
