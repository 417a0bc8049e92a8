#include "cpu/rank/rank_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "cpu/gathered/gathered.h"
#include "cpu/gathered/part.h"
#include "cpu/gathered/sorted_taps.h"
#include "cpu/rank/key.h"
#include "cpu/rank/rank_kernels.h"
#include "cpu/rank/windows.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/strided_copy.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr index_t kMostTaps = 4096;                   // networks of more take long to make
constexpr index_t kScratchBytes = index_t{40} << 10;  // rows of a network stay in the first cache
constexpr std::size_t kMostKept = 512;                // networks

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// A network is made once for all calls with the same windows.
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

// The network of windows with so many rows of outputs at a time.
struct Network {
  std::shared_ptr<const Selection> selection;
  index_t outputs = 1;
};

// What all tasks of a call share.
struct Plan {
  Plan(const Statistic& statistic, const RankLayout& rows);

  SelectionWindow window(index_t outputs) const;
  Network best_network(index_t most) const;
  const Statistic& job;
  const RankLayout& layout;
  Range along, down, deep;  // outputs whose windows are full
  index_t taps = 0;         // of a window
  std::vector<index_t> ranks;
  RankKernels kernels;
  index_t bytes;      // of an element
  index_t lane_step;  // lanes between neighbouring positions of a phase
  Unwanted unwanted;
  Network network, rest;  // of most rows, and of the last ones
};

Range full_of(const RankAxis& axis) { return axis.number < 0 ? Range{0, 1} : axis.axis.full(); }

Plan::Plan(const Statistic& statistic, const RankLayout& rows)
    : job(statistic),
      layout(rows),
      along(full_of(rows.along)),
      down(full_of(rows.down)),
      deep(full_of(rows.deep)),
      kernels(rank_table().of(statistic.problem.dtype)),
      bytes(size_bytes(statistic.problem.dtype)),
      lane_step(rows.lanes.n) {
  const Pool& pool = job.problem.pool;
  const Footprint& footprint = pool.footprint;
  taps = footprint.empty() ? job.problem.taps()
                           : std::count(footprint.taps.begin(), footprint.taps.end(), std::uint8_t{1});
  ranks = ranks_of(pool, taps);
  unwanted.nan = is_floating(job.problem.dtype);
  if (pool.nodata) {
    unwanted.value = true;
    visit(job.problem.dtype, [&]<class T>() {
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
    visit(job.problem.dtype, [&]<class T>() {
      if constexpr (is_floating_v<T>) {
        unwanted.value = true;
        unwanted.keys[0] = unwanted.keys[1] = static_cast<std::uint64_t>(key_of(T(-0.0)));
      }
    });
  }
  if (down.empty()) return;
  network = best_network(down.size());
  const index_t left = down.size() % network.outputs;
  if (left > 0) rest = {selection_of(window(left)), left};
}

// The taps in the order of the roles: deep, down, along.
SelectionWindow Plan::window(index_t outputs) const {
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
Network Plan::best_network(index_t most) const {
  const Axis& axis = layout.down.axis;
  const bool box = job.problem.pool.footprint.empty();
  const bool shares = box && axis.stride == 1 && axis.dilation == 1 && axis.kernel > 1;
  Network best{selection_of(window(1)), 1};
  double least = cost(*best.selection, window(1));
  const index_t most_outputs = std::min({most, axis.kernel, index_t{16}});  // windows of all of them share a row
  for (index_t outputs = 2; shares && outputs <= most_outputs; outputs *= 2) {
    const std::shared_ptr<const Selection> other = selection_of(window(outputs));
    const double cycles = cost(*other, window(outputs));
    if (cycles >= least) continue;
    least = cycles;
    best = {other, outputs};
  }
  return best;
}

// One thread's rows.
class RankRows {
 public:
  RankRows(const Plan& plan, Arena& arena) : plan_(plan), copy_(strided_copy()) {
    const index_t vector_lanes = kRankVectorBytes / plan.bytes;
    index_t rows = 1, inputs = 1, reach = 0;
    for (const Network* n : {&plan.network, &plan.rest}) {
      if (!n->selection) continue;
      rows = std::max<index_t>(rows, n->selection->inputs + n->selection->scratch);
      inputs = std::max<index_t>(inputs, n->selection->inputs);
      reach = std::max<index_t>(reach, n->selection->reach);
    }
    const index_t all = plan.along.size() * plan.lane_step;
    const index_t fitting = kScratchBytes / rows / kRankVectorBytes * vector_lanes;
    lanes_ = std::min((all + vector_lanes - 1) / vector_lanes * vector_lanes,
                      std::clamp(fitting, vector_lanes, 64 * vector_lanes));
    if (plan.lane_step > 1) lanes_ = std::max(lanes_ / plan.lane_step * plan.lane_step, plan.lane_step);
    const index_t row_bytes = (lanes_ + reach + plan.lane_step) * plan.bytes + 3 * kRankVectorBytes;
    for (index_t r = 0; r < rows; ++r) rows_.push_back(arena.take(row_bytes));
    line_ = arena.take((lanes_ + reach + plan.lane_step) * plan.bytes + kRankVectorBytes);
    for (std::size_t i = 0; i < plan.ranks.size(); ++i) found_.push_back(arena.take(row_bytes));
  }

  // The outputs of a band of rows: number `band` of slice `slice` of plane `plane`.
  void run(index_t plane, index_t slice, index_t band) {
    const Network& whole = plan_.network;
    const index_t first = plan_.down.begin + band * whole.outputs;
    const Network& network = first + whole.outputs <= plan_.down.end ? whole : plan_.rest;
    index_t offset_x = 0, offset_y = 0;
    for (int i = plan_.layout.plane_dims - 1; i >= 0; --i) {
      const RankLoop& loop = plan_.layout.planes[at(i)];
      plane_at_[at(i)] = plane % loop.n;
      offset_x += plane_at_[at(i)] * loop.x;
      offset_y += plane_at_[at(i)] * loop.y;
      plane /= loop.n;
    }
    const index_t positions = lanes_ / plan_.lane_step;
    for (index_t o = plan_.along.begin; o < plan_.along.end; o += positions) {
      const Range outputs{o, std::min(o + positions, plan_.along.end)};
      if (load(network, offset_x, slice, first, outputs))
        run_apart(network, slice, first, outputs);
      else
        select(network, offset_y, slice, first, outputs);
    }
  }

 private:
  // The keys of all rows that the windows read. Whether one of them is not valid, or NaN.
  bool load(const Network& network, index_t offset, index_t slice, index_t first, Range outputs) {
    const RankLayout& layout = plan_.layout;
    const Axis &a = layout.along.axis, &d = layout.down.axis, &z = layout.deep.axis;
    const index_t rows = d.kernel + network.outputs - 1;
    const index_t positions = outputs.size() + (network.selection->reach + plan_.lane_step - 1) / plan_.lane_step;
    bool special = false;
    for (index_t deep = 0; deep < z.kernel; ++deep) {
      const index_t place_z = layout.deep.number < 0 ? 0 : z.at(slice, deep) * layout.deep.x;
      for (index_t r = 0; r < rows; ++r) {
        const index_t row = r < d.kernel ? d.at(first, r) : d.at(first, d.kernel - 1) + (r - d.kernel + 1) * d.stride;
        const index_t place = offset + place_z + (layout.down.number < 0 ? 0 : row * layout.down.x);
        for (index_t phase = 0; phase < a.stride; ++phase) {
          if (!reads(phase)) continue;
          const index_t begin = a.start(outputs.begin) + phase;
          const index_t n = std::min(positions, ceil_div(a.in - begin, a.stride));
          special |= load_row(place + begin * layout.along.x, n, rows_[at((deep * rows + r) * a.stride + phase)]);
        }
      }
    }
    return special;
  }

  bool reads(index_t phase) const {
    const Axis& a = plan_.layout.along.axis;
    for (index_t t = 0; t < a.kernel; ++t)
      if (a.phase(t) == phase) return true;
    return false;
  }

  // n positions, `stride` apart.
  bool load_row(index_t place, index_t n, std::byte* keys) {
    const RankLayout& layout = plan_.layout;
    const index_t lanes = layout.lanes.n, step = layout.along.x * layout.along.axis.stride, bytes = plan_.bytes;
    const auto* from = static_cast<const std::byte*>(plan_.job.x.data) + place * bytes;
    const bool together = lanes == 1 || layout.lanes.x == 1;
    if (together && step == lanes) return plan_.kernels.load(from, n * lanes, keys, plan_.unwanted);
    if (together && lanes == 1 && step > 1 && bytes * step < (index_t{1} << 20)) {
      copy_(from, step, n, bytes, line_);
    } else {
      for (index_t p = 0; p < n; ++p)
        for (index_t l = 0; l < lanes; ++l)
          std::memcpy(line_ + (p * lanes + l) * bytes, from + (p * step + l * layout.lanes.x) * bytes, at(bytes));
    }
    return plan_.kernels.load(line_, n * lanes, keys, plan_.unwanted);
  }

  void select(const Network& network, index_t offset, index_t slice, index_t first, Range outputs) {
    const Selection& selection = *network.selection;
    const index_t lanes = outputs.size() * plan_.lane_step;
    plan_.kernels.exchange(selection, reinterpret_cast<void* const*>(rows_.data()), lanes);
    const std::size_t count = plan_.ranks.size();
    const RankLayout& layout = plan_.layout;
    for (index_t r = 0; r < network.outputs; ++r) {
      const index_t place = offset + (layout.deep.number < 0 ? 0 : slice * layout.deep.y) +
                            (layout.down.number < 0 ? 0 : (first + r) * layout.down.y) + outputs.begin * layout.along.y;
      const bool direct = count == 1 && stores_in_line();
      auto* y = static_cast<std::byte*>(plan_.job.y.data) + place * plan_.bytes;
      for (std::size_t i = 0; i < count; ++i) {
        const SelectedRow& row = selection.results[at(r) * count + i];
        plan_.kernels.store(rows_[row.row] + row.shift * plan_.bytes, lanes, direct ? y : found_[i]);
      }
      if (!direct) write(place, outputs.size());
    }
  }

  const std::byte* row_of(index_t rank) const {
    const auto found = std::lower_bound(plan_.ranks.begin(), plan_.ranks.end(), rank);
    return found_[static_cast<std::size_t>(found - plan_.ranks.begin())];
  }

  // The results of one row from the sorted taps found.
  void write(index_t place, index_t positions) {
    const Pool& pool = plan_.job.problem.pool;
    const index_t taps = plan_.taps, lead = plan_.job.y.rank() - plan_.job.x.rank();
    const bool one_rank = pool.rank || pool.op == Op::max || pool.op == Op::min;
    if (one_rank) return store(row_of(plan_.ranks[0]), place, positions);
    for (index_t k = 0; k < detail::quantile_count(pool); ++k) {
      const double q = pool.op == Op::median ? 0.5 : pool.q[at(k)];
      const QuantilePlace quantile = place_of_quantile(pool.method, q, taps);
      const index_t to = place + (lead > 0 ? k * plan_.job.y.pitch[0] : 0);
      const bool one = quantile.low == quantile.high || (pool.method == Quantile::linear && quantile.share == 0);
      if (one)
        store(row_of(quantile.low), to, positions);
      else
        store(between(quantile, positions * plan_.lane_step), to, positions);
    }
  }

  // Whether a row of results is one run of memory, of a single quantile.
  bool stores_in_line() const {
    const RankLayout& layout = plan_.layout;
    return layout.along.y == layout.lanes.n && (layout.lanes.n == 1 || layout.lanes.y == 1) &&
           detail::quantile_count(plan_.job.problem.pool) == 1;
  }

  void store(const std::byte* row, index_t place, index_t positions) const {
    const RankLayout& layout = plan_.layout;
    const index_t lanes = layout.lanes.n, bytes = plan_.bytes, step = layout.along.y;
    auto* to = static_cast<std::byte*>(plan_.job.y.data) + place * bytes;
    if (step == lanes && (lanes == 1 || layout.lanes.y == 1)) {
      std::memcpy(to, row, at(positions * lanes * bytes));
      return;
    }
    for (index_t p = 0; p < positions; ++p)
      for (index_t l = 0; l < lanes; ++l)
        std::memcpy(to + (p * step + l * layout.lanes.y) * bytes, row + (p * lanes + l) * bytes, at(bytes));
  }

  // Values between two sorted taps, as gathered_rank.cc has them, in line_.
  const std::byte* between(const QuantilePlace& quantile, index_t n) {
    const bool middle = plan_.job.problem.pool.method == Quantile::midpoint;
    visit(plan_.job.problem.dtype, [&]<class T>() {
      const T *low = reinterpret_cast<const T*>(row_of(quantile.low)),
              *high = reinterpret_cast<const T*>(row_of(quantile.high));
      T* to = reinterpret_cast<T*>(line_);
      for (index_t i = 0; i < n; ++i) to[i] = between_taps(low[i], high[i], quantile.share, middle);
    });
    return line_;
  }

  // Windows with something that is not valid, window by window.
  void run_apart(const Network& network, index_t slice, index_t first, Range outputs) const {
    const Statistic& job = plan_.job;
    OutputBox box;
    if (plan_.layout.lanes.axis >= 0) box[at(plan_.layout.lanes.axis)] = {0, plan_.layout.lanes.n};
    for (int i = 0; i < plan_.layout.plane_dims; ++i) {
      const index_t here = plane_at_[at(i)];
      box[at(plan_.layout.planes[at(i)].axis)] = {here, here + 1};
    }
    for (const auto& [axis, range] : {std::pair(&plan_.layout.along, outputs),
                                      {&plan_.layout.down, Range{first, first + network.outputs}},
                                      {&plan_.layout.deep, Range{slice, slice + 1}}}) {
      if (axis->number >= 0) box[at(job.problem.axes[at(axis->number)])] = range;
    }
    run_part(job, box, [](const Statistic& part) { run_gathered(part, 1); });
  }

  const Plan& plan_;
  StridedCopy copy_;
  index_t lanes_ = 0;
  std::vector<std::byte*> rows_;   // of the network
  std::vector<std::byte*> found_;  // results of one row, one for each rank
  std::byte* line_;
  std::array<index_t, kMaxRank> plane_at_{};
};

index_t count_of_taps(const Problem& problem) {
  const Footprint& footprint = problem.pool.footprint;
  if (footprint.empty()) return problem.taps();
  return std::count(footprint.taps.begin(), footprint.taps.end(), std::uint8_t{1});
}

constexpr index_t kFewOutputs = 16;  // are computed window by window

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
  const auto apart = [&] { run_gathered(part, threads); };
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
  const Plan plan(job, *layout);
  const index_t bands = ceil_div(plan.down.size(), plan.network.outputs), slices = plan.deep.size();
  const double vectors = static_cast<double>(plan.along.size() * plan.lane_step * plan.bytes) / kRankVectorBytes + 1;
  const double cycles = cost(*plan.network.selection, plan.window(plan.network.outputs)) *
                        static_cast<double>(plan.network.outputs) * vectors;
  const auto task = static_cast<index_t>(std::min(cycles * 8, 1e12));  // bytes that a copy moves in this time
  parallel_for(plan.layout.plane_count * slices * bands, task, threads, [&](index_t begin, index_t end) {
    Arena arena;
    RankRows rows(plan, arena);
    for (index_t i = begin; i < end; ++i) rows.run(i / bands / slices, plan.deep.begin + i / bands % slices, i % bands);
  });
  run_borders(job, threads);
}

}  // namespace oriel::cpu
