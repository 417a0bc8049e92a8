#include "cpu/valid_blocks/valid_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "cpu/runtime/parallel.h"
#include "cpu/tap_rows/tap_rows.h"
#include "cpu/valid_blocks/fill.h"
#include "cpu/valid_blocks/finish_kernels.h"
#include "cpu/valid_blocks/fold_kernels.h"
#include "cpu/valid_blocks/tap_tree.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr index_t kChunk = 1024;                 // results whose accumulators stay in the first cache
constexpr index_t kFewTaps = 4, kFewApart = 64;  // of windows that overlap, or do not

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool is_nan(const Scalar& value) {
  const double* v = std::get_if<double>(&value);
  return v != nullptr && std::isnan(*v);
}

// How a job is folded and finished.
struct Recipe {
  TapFold fold = TapFold::sum;
  bool both = false;  // minima too
  TapFinish finish = TapFinish::value;
  bool wide = false;
  TapTest test = TapTest::none;
  TapLane lane = TapLane::i32;
};

TapTest test_of(const Statistic& job) {
  const Pool& pool = job.problem.pool;
  if (job.mask != nullptr || (pool.nodata && !is_nan(*pool.nodata))) return TapTest::any;
  const bool drops = job.omits() || pool.nodata;
  return drops && is_floating(job.problem.dtype) ? TapTest::nan : TapTest::none;
}

// Nothing for other ops.
std::optional<Recipe> recipe_of(const Statistic& job) {
  const Problem& problem = job.problem;
  Recipe r{.wide = problem.result == Dtype::f64, .test = test_of(job)};
  switch (problem.pool.op) {
    case Op::sum:
      break;
    case Op::avg:
      r.finish = TapFinish::average;
      break;
    case Op::max:
    case Op::min:
      r.fold = problem.pool.op == Op::max ? TapFold::max : TapFold::min;
      break;
    case Op::range:
      r.fold = TapFold::max;
      r.both = true;
      break;
    case Op::any:
    case Op::all:
    case Op::count:
      r.fold = TapFold::nonzero;
      r.finish = problem.pool.op == Op::any   ? TapFinish::any
                 : problem.pool.op == Op::all ? TapFinish::all
                                              : TapFinish::count;
      break;
    default:
      return std::nullopt;
  }
  if (r.fold != TapFold::sum) r.test = TapTest::any;
  r.lane = tap_lane(r.fold, problem.dtype, r.wide);
  return r;
}

// A value of x as an accumulator.
void store_lane(double real, std::int64_t whole, TapLane lane, std::array<std::byte, 8>& to) {
  const auto put = [&](auto v) { std::memcpy(to.data(), &v, sizeof(v)); };
  if (lane == TapLane::f64) return put(real);
  if (lane == TapLane::f32) return put(static_cast<float>(real));
  if (lane == TapLane::i16) return put(static_cast<std::int16_t>(whole));
  if (lane == TapLane::i32) return put(static_cast<std::int32_t>(whole));
  put(whole);
}

template <class T>
void store_element(T v, TapLane lane, std::array<std::byte, 8>& to) {
  if constexpr (is_floating_v<T>)
    store_lane(static_cast<double>(v), 0, lane, to);
  else
    store_lane(0, static_cast<std::int64_t>(v), lane, to);
}

Extents kernel_of(const Problem& problem) {
  Extents kernel;
  for (int a = 0; a < problem.pooled; ++a) kernel.push_back(problem.axis[at(a)].kernel);
  return kernel;
}

// What all threads share.
struct Work {
  explicit Work(const Statistic& of)
      : job(of),
        recipe(*recipe_of(job)),
        tree(kernel_of(job.problem)),
        fold(fold_tap_rows(recipe.fold, job.problem.dtype, recipe.wide, recipe.test)),
        fold_lowest(fold_tap_rows(TapFold::min, job.problem.dtype, recipe.wide, recipe.test)),
        finish(finish_taps(recipe.finish, recipe.lane, job.problem.result)),
        subtract(subtract_row(recipe.lane)) {
    const Pool& pool = job.problem.pool;
    rows.count = job.problem.taps();
    rows.steps = tree.steps.data();
    rows.step_count = static_cast<index_t>(tree.steps.size());
    rows.drop_nan = job.omits() || (pool.nodata && is_nan(*pool.nodata));
    rows.has_nodata = pool.nodata && !is_nan(*pool.nodata);
    visit(job.problem.dtype, [&]<class T>() {
      store_element(lowest_value<T>(), recipe.lane, lowest);
      store_element(highest_value<T>(), recipe.lane, highest);
      if (!rows.has_nodata) return;
      T nodata;
      detail::store(*pool.nodata, dtype_v<T>, &nodata);
      store_element(nodata, recipe.lane, rows.nodata);
    });
    rows.identity = recipe.fold == TapFold::max ? lowest : highest;
    store_fill(job.problem, fill.data());
  }

  const Statistic& job;
  const Recipe recipe;
  const TapTree tree;
  const FoldTapRows fold, fold_lowest;
  const FinishTaps finish;
  const SubtractRow subtract;
  TapRows rows;
  alignas(8) std::array<std::byte, 8> lowest{}, highest{}, fill{};
};

// One thread's folds.
class BlockFold {
 public:
  BlockFold(const Work& work, Arena& arena) : work_(work) {
    folded_ = arena.take(kChunk * 8);
    lowest_ = arena.take(kChunk * 8);
    valid_ = arena.take(kChunk * 8);
  }

  void operator()(const TapRun& run) {
    const Pool& pool = work_.job.problem.pool;
    const index_t bytes = size_bytes(work_.job.problem.result);
    FinishRow out{.folded = folded_, .valid = valid_, .need = enough_of(pool, run.has), .fill = work_.fill.data()};
    out.keeps = work_.recipe.fold == TapFold::max || work_.recipe.fold == TapFold::min;
    if (run.has < out.need) return fill_copies(static_cast<std::byte*>(run.y), work_.fill.data(), bytes, run.n);
    if (pool.op == Op::avg) {
      out.divisor = pool.divisor;
      out.more = pool.count_include_pad ? run.divisor - run.has : 0;
    }
    TapRows rows = work_.rows;
    rows.taps = run.taps;
    rows.masks = run.masks;
    rows.valid = valid_;
    if (work_.tree.even && run.has == rows.count) rows.leaves = work_.tree.leaves.data();
    if (work_.recipe.test == TapTest::none) set_valid(run.has);
    for (index_t i = 0; i < run.n; i += kChunk) {
      rows.first = i;
      rows.n = out.n = std::min(kChunk, run.n - i);
      rows.out = folded_;
      work_.fold(rows);
      if (work_.recipe.both) {
        rows.out = lowest_;
        rows.identity = work_.highest;
        work_.fold_lowest(rows);
        rows.identity = work_.lowest;
        work_.subtract(folded_, lowest_, rows.n);
      }
      out.y = static_cast<std::byte*>(run.y) + i * bytes;
      work_.finish(out);
    }
  }

 private:
  // All taps that are there are valid.
  void set_valid(index_t taps) {
    if (set_ == taps) return;
    set_ = taps;
    std::array<std::byte, 8> number{};
    store_lane(static_cast<double>(taps), taps, work_.recipe.lane, number);
    fill_copies(valid_, number.data(), size_bytes(work_.recipe.lane), kChunk);
  }

  const Work& work_;
  index_t set_ = -1;
  std::byte *folded_, *lowest_, *valid_;
};

}  // namespace

bool can_valid_blocks(const Statistic& job) {
  const Problem& problem = job.problem;
  const Pool& pool = problem.pool;
  const std::optional<Recipe> recipe = recipe_of(job);
  if (!recipe || problem.taps() > kMostBlockTaps || !TapPlan::can(job)) return false;
  if (pool.op == Op::avg && !pool.footprint.empty() && pool.count_include_pad && pool.divisor == 0) return false;
  if (pool.op == Op::avg && pool.divisor > kMostBlockTaps) return false;
  const bool long_integer = problem.dtype == Dtype::i64 || problem.dtype == Dtype::u64;
  const bool same = problem.result == problem.dtype;
  if (long_integer && (pool.op == Op::avg || pool.op == Op::range || (pool.op == Op::sum && !same))) return false;
  // A difference in f64 needs extrema in f64.
  if (pool.op == Op::range && problem.result == Dtype::f64 && is_floating(problem.dtype) && !same) return false;
  if (TapTree(kernel_of(problem)).depth > kMostTreeDepth) return false;
  return finish_taps(recipe->finish, recipe->lane, problem.result) != nullptr;
}

// Networks take half the time for extrema of integers that are all valid, and folds axis by axis share more of windows
// that overlap; without a box neither does.
bool valid_blocks_pay(const Statistic& job) {
  const Problem& problem = job.problem;
  const Op op = problem.pool.op;
  const bool box = problem.pool.footprint.empty();
  if (op == Op::range) return true;
  if (op == Op::max || op == Op::min) return is_floating(problem.dtype) || test_of(job) != TapTest::none;
  const auto axes = std::span(problem.axis).first(at(problem.pooled));
  const bool apart = std::all_of(axes.begin(), axes.end(), [](const Axis& a) { return a.stride >= a.kernel; });
  return !box || problem.taps() <= (apart ? kFewApart : kFewTaps);
}

void run_valid_blocks(const Statistic& job, int threads) {
  const Work work(job);
  TapPlan plan(job);
  plan.divides = job.problem.pool.op == Op::avg;
  parallel_for(plan.items(), plan.item_bytes(), threads, [&](index_t begin, index_t end) {
    Arena arena;
    TapReader reader(plan, arena);
    reader.each_run(begin, end, BlockFold(work, arena));
  });
}

}  // namespace oriel::cpu
