#include "cpu/rank/rank_rows.h"

#include <algorithm>

#include "cpu/gathered/part.h"
#include "cpu/order/rank_plan.h"
#include "cpu/order/rank_taps.h"
#include "cpu/rank/row_ranker.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr index_t kMostTaps = 4096;  // networks of more take long to make
constexpr index_t kFewOutputs = 16;  // are computed window by window

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The footprint without the taps along pooled axis number `axis` that do not exist.
Footprint cut(const Footprint& footprint, int axis, Range taps) {
  if (footprint.empty()) return {};
  Footprint result{.shape = footprint.shape};
  result.shape[axis] = taps.size();
  index_t inner = 1;
  for (int a = axis + 1; a < footprint.shape.size(); ++a) inner *= footprint.shape[a];
  for (index_t t = 0; t < static_cast<index_t>(footprint.taps.size()); ++t)
    if (taps.contains(t / inner % footprint.shape[axis])) result.taps.push_back(footprint.taps[at(t)]);
  return result;
}

// A pool with a single window along a pooled axis, some of whose taps do not exist: it is one of smaller, full windows.
void run_shorter(const Statistic& part, int axis, int threads) {
  Problem shorter = part.problem;
  Axis& own = shorter.axis[at(axis)];
  const Range taps = own.taps(0);
  const auto apart = [&] { run_rank_taps(part, threads); };
  if (taps.empty()) return apart();
  const index_t first = own.at(0, taps.begin), inputs = (taps.size() - 1) * own.dilation + 1;
  own = Axis::uniform(inputs, taps.size(), 1, 0, 0, own.dilation);
  ConstTensor x = part.x;
  const int d = shorter.axes[at(axis)];
  x.data = static_cast<const std::byte*>(x.data) + first * x.pitch[d] * size_bytes(x.dtype);
  x.shape[d] = shorter.shape[d] = inputs;
  shorter.pool.footprint = cut(part.problem.pool.footprint, axis, taps);
  const Footprint& footprint = shorter.pool.footprint;
  if (!footprint.empty() && std::count(footprint.taps.begin(), footprint.taps.end(), std::uint8_t{1}) == 0)
    return apart();
  const Statistic job{.problem = shorter, .x = x, .y = part.y};
  if (element_count(part.y.shape) < kFewOutputs || !can_rank_rows(job)) return apart();
  run_rank_rows(job, threads);
}

// The outputs whose windows reach beyond the input, one axis after another.
void run_borders(const Statistic& job, int threads) {
  OutputBox box;
  const int lead = job.y.rank() - job.x.rank();
  for (int d = 0; d < job.x.rank(); ++d) box[at(d)] = {0, job.y.shape[d + lead]};
  for (int a = 0; a < job.problem.pooled; ++a) {
    Range& range = box[at(job.problem.axes[at(a)])];
    const Range whole = range, full = job.problem.axis[at(a)].full();
    for (index_t o = whole.begin; o < whole.end; ++o) {
      if (o == full.begin) o = full.end;
      if (o == whole.end) break;
      range = {o, o + 1};
      run_part(job, box, [&](const Statistic& part) { run_shorter(part, a, threads); });
    }
    range = full;
  }
}

}  // namespace

bool can_rank_rows(const Statistic& job) {
  const Problem& problem = job.problem;
  const Pool& pool = problem.pool;
  const bool extremum = pool.op == Op::max || pool.op == Op::min;
  if (!extremum && pool.op != Op::median && pool.op != Op::quantile) return false;
  if (extremum && is_floating(problem.dtype) && pool.nodata) return false;  // negative zeros are what is looked for
  if (job.mask != nullptr || job.weights != nullptr || job.index != nullptr) return false;
  if (problem.result != problem.dtype || problem.taps() > kMostTaps) return false;
  if (count_of_taps(problem) < pool.min_count) return false;
  if (!rank_layout(job)) return false;
  for (int a = 0; a < problem.pooled; ++a)
    if (problem.axis[at(a)].full().empty()) return false;
  return true;
}

// Networks of many taps take as long to make as some thousand windows.
bool rank_rows_pays(const Statistic& job) {
  const index_t taps = job.problem.taps();
  return taps > 1 && element_count(job.y.shape) >= std::max<index_t>(64, taps * taps / 64);
}

void run_rank_rows(const Statistic& job, int threads) {
  const std::optional<RankLayout> layout = rank_layout(job);
  const RankPlan plan(job, *layout);
  const index_t bands = ceil_div(plan.down.size(), plan.network.outputs), slices = plan.deep.size();
  const double vectors = static_cast<double>(plan.along.size() * plan.lane_step * plan.bytes) / kRankVectorBytes + 1;
  const double cycles = plan.network.selection->cycles * vectors;
  const auto task = static_cast<index_t>(std::min(cycles * 8, 1e12));  // bytes that a copy moves in this time
  parallel_for(plan.layout.plane_count * slices * bands, task, threads, [&](index_t begin, index_t end) {
    Arena arena;
    RowRanker ranker(plan, arena);
    while (begin < end) {
      const index_t place = begin / bands, band = begin % bands, some = std::min(end - begin, bands - band);
      ranker.run(place / slices, plan.deep.begin + place % slices, {band, band + some});
      begin += some;
    }
    finish_stream();
  });
  run_borders(job, threads);
}

}  // namespace oriel::cpu
