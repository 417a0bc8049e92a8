#include "cpu/order/rank_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "cpu/order/key.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t kMostKept = 512;  // networks

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool has_nan_as_nodata(const Problem& problem) {
  const auto* nodata = problem.pool.nodata ? std::get_if<double>(&*problem.pool.nodata) : nullptr;
  return nodata != nullptr && std::isnan(*nodata);
}

Range full_of(const RankAxis& axis) { return axis.number < 0 ? Range{0, 1} : axis.axis.full(); }

}  // namespace

std::shared_ptr<const Selection> selection_of(const SelectionWindow& w) {
  std::vector<index_t> key{w.depth, w.height, w.outputs, w.phases, static_cast<index_t>(w.columns.size())};
  for (const auto& c : w.columns) key.insert(key.end(), {c.phase, c.shift});
  key.insert(key.end(), w.ranks.begin(), w.ranks.end());
  key.push_back(-1);
  key.insert(key.end(), w.taps.begin(), w.taps.end());
  static std::mutex mutex;
  static std::map<std::vector<index_t>, std::shared_ptr<const Selection>> kept;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = kept.find(key); found != kept.end()) return found->second;
  }
  auto made = std::make_shared<const Selection>(make_selection(w));
  const std::lock_guard lock(mutex);
  if (kept.size() >= kMostKept) kept.clear();
  return kept.try_emplace(std::move(key), std::move(made)).first->second;
}

bool leaves_out_nan(const Problem& problem) {
  return is_floating(problem.dtype) && (problem.pool.nan == NanPolicy::omit || has_nan_as_nodata(problem));
}

Unwanted unwanted_of(const Problem& problem) {
  const Pool& pool = problem.pool;
  Unwanted unwanted;
  unwanted.nan = is_floating(problem.dtype);
  if (pool.nodata && !has_nan_as_nodata(problem)) {
    unwanted.value = true;
    visit(problem.dtype, [&]<class T>() {
      T value{};
      detail::store(*pool.nodata, dtype_v<T>, &value);
      unwanted.keys[0] = unwanted.keys[1] = static_cast<std::uint64_t>(key_of(value));
      if constexpr (is_floating_v<T>) {
        if (static_cast<double>(value) != 0) return;
        unwanted.keys[0] = static_cast<std::uint64_t>(key_of(T(-0.0)));
        unwanted.keys[1] = static_cast<std::uint64_t>(key_of(T(0.0)));
      }
    });
  }
  if (pool.op == Op::max || pool.op == Op::min) {  // of two zeros the first counts (S4): those below 0 go apart
    visit(problem.dtype, [&]<class T>() {
      if constexpr (is_floating_v<T>) {
        unwanted.value = true;
        unwanted.keys[0] = unwanted.keys[1] = static_cast<std::uint64_t>(key_of(T(-0.0)));
      }
    });
  }
  return unwanted;
}

index_t count_of_taps(const Problem& problem) {
  const Footprint& footprint = problem.pool.footprint;
  if (footprint.empty()) return problem.taps();
  return std::count(footprint.taps.begin(), footprint.taps.end(), std::uint8_t{1});
}

RankPlan::RankPlan(const Statistic& statistic, const RankLayout& rows)
    : job(statistic),
      layout(rows),
      along(full_of(rows.along)),
      down(full_of(rows.down)),
      deep(full_of(rows.deep)),
      kernels(rank_table().of(statistic.problem.dtype)),
      bytes(size_bytes(statistic.problem.dtype)),
      lane_step(rows.lanes.n) {
  taps = count_of_taps(job.problem);
  ranks = ranks_of(job.problem.pool, taps);
  unwanted = unwanted_of(job.problem);
  if (down.empty()) return;
  network = best_network(down.size());
  const index_t left = down.size() % network.outputs;
  if (left > 0) rest = {selection_of(window(left)), left};
}

// The taps in the order of the roles: deep, down, along.
SelectionWindow RankPlan::window(index_t outputs) const {
  const Axis &a = layout.along.axis, &d = layout.down.axis, &z = layout.deep.axis;
  SelectionWindow w;
  w.depth = z.kernel;
  w.height = d.kernel;
  w.outputs = outputs;
  for (index_t t = 0; t < a.kernel; ++t) w.columns.push_back({a.phase(t), a.phase_offset(t) * lane_step});
  w.phases = a.stride;
  w.ranks = ranks;
  const Footprint& footprint = job.problem.pool.footprint;
  if (footprint.empty()) return w;
  for (index_t deep_tap = 0; deep_tap < z.kernel; ++deep_tap) {
    for (index_t down_tap = 0; down_tap < d.kernel; ++down_tap) {
      for (index_t tap = 0; tap < a.kernel; ++tap) {
        index_t code = 0;
        for (int i = 0; i < job.problem.pooled; ++i) {
          const index_t own = i == layout.along.number ? tap : i == layout.down.number ? down_tap : deep_tap;
          code = code * job.problem.axis[at(i)].kernel + own;
        }
        w.taps.push_back(footprint.taps[at(code)]);
      }
    }
  }
  return w;
}

// Rows of outputs share sorted columns only if their windows begin one row apart, tap by tap.
RankNetwork RankPlan::best_network(index_t most) const {
  const Axis& axis = layout.down.axis;
  const bool box = job.problem.pool.footprint.empty();
  const bool shares = box && axis.stride == 1 && axis.dilation == 1 && axis.kernel > 1;
  RankNetwork best{selection_of(window(1)), 1};
  double least = best.selection->cycles;
  const index_t most_outputs = std::min({most, axis.kernel, index_t{16}});  // windows of all of them share a row
  for (index_t outputs = 2; shares && outputs <= most_outputs; outputs *= 2) {
    const std::shared_ptr<const Selection> other = selection_of(window(outputs));
    const double cycles = other->cycles / static_cast<double>(outputs);
    if (cycles >= least) continue;
    least = cycles;
    best = {other, outputs};
  }
  return best;
}

}  // namespace oriel::cpu
