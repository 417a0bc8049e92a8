#include "cpu/disjoint/disjoint_gradient.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "cpu/disjoint/gradient_kernels.h"
#include "cpu/plan/layout.h"
#include "cpu/plan/output_box.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/line_writer.h"
#include "cpu/simd/stream.h"
#include "reduction.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBandBytes = index_t{64} << 10;  // of dx: zeros that come first are still in a cache
constexpr index_t kStageBytes = index_t{8} << 10;  // of dx that is put together in the first cache, then streamed
constexpr index_t kFewestOutputs = 8;              // of a row that fills vectors
constexpr index_t kFewestLanes = 8;                // that do
constexpr int kMostAxes = 3;
constexpr int kMostTaps = kMaxFold * kMaxFold * kMaxFold;
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

struct ApartJob {
  const Problem& problem;
  const RowLayout& layout;  // kX: x, kY: dy, kIndex: dx
  const std::byte* x;
  const std::byte* dy;
  std::byte* dx;
  index_t elem = 4;
  bool lanes = false;      // windows of lanes, or else beside each other along rows
  bool positions = false;  // lanes of sums, and a row of such windows is one call
  // How a large dx goes past the caches: straight from kernels, or a band at a time from a stage.
  bool stream = false;
  bool stage = false;
  int outer = 0;          // axes that are visited: all, or all but that of rows
  bool complete = false;  // every input is in a window
  bool sums = false;      // sums and averages
  double divisor = 1;     // of all their windows
};

bool is_dense(const Pitches& p) { return p[kX] == 1 && p[kY] == 1 && p[kIndex] == 1; }

bool is_apart(const Axis& axis) {
  return !axis.adaptive && axis.spacing == 1 && axis.kernel <= kMaxFold && axis.stride >= axis.extent();
}

// Whether windows stand beside each other from the first input on, and none is cut.
bool tiles(const Axis& row) {
  return row.stride == row.kernel && row.dilation == 1 && row.start(0) == 0 && row.full() == Range{0, row.out};
}

// Rows of contiguous inputs that windows tile.
bool is_row(const RowLayout& layout) {
  const PooledAxis& along = layout.axis[at(layout.pooled() - 1)];
  const Axis& row = along.axis;
  return layout.row_axis == layout.pooled() - 1 && is_dense(along.pitch) && tiles(row) && row.stride >= 2 &&
         row.stride <= 4 && row.out >= kFewestOutputs;
}

// Rows of positions, of lanes that lie side by side, that windows tile.
bool is_row_of_positions(const RowLayout& layout) {
  const PooledAxis& along = layout.axis[at(layout.pooled() - 1)];
  return tiles(along.axis) && along.pitch[kY] == layout.lanes.n && along.pitch[kIndex] == layout.lanes.n;
}

// Whether the runs that kernels write at once are whole lines of the caches.
bool writes_lines(const ApartJob& job) {
  const RowLayout& layout = job.layout;
  const auto whole_lines = [&](index_t elements) { return elements * job.elem % kLineBytes == 0; };
  bool lines = reinterpret_cast<std::uintptr_t>(job.dx) % kLineBytes == 0 && job.elem >= 4;  // else half a line each
  lines &= whole_lines(layout.lanes.n);
  for (const LoopDim& d : layout.planes) lines &= whole_lines(d.pitch[kIndex]);
  for (const PooledAxis& a : layout.axis) lines &= whole_lines(a.pitch[kIndex]);
  return lines;
}

// Whether a plane of dx is one run of memory, its axes in their order.
bool is_run(const RowLayout& layout) {
  index_t n = layout.lanes.n;
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    const PooledAxis& axis = layout.axis[at(a)];
    if (axis.axis.in > 1 && axis.pitch[kIndex] != n) return false;
    n *= axis.axis.in;
  }
  return true;
}

void set_streams(ApartJob& job) {
  if (!job.sums || element_count(job.problem.shape) * job.elem < stream_bytes) return;
  job.stream = job.positions && writes_lines(job);
  job.stage = !job.stream && job.outer > 0 && is_run(job.layout);
}

bool covers(const Axis& axis) {
  return axis.stride == axis.kernel && axis.dilation == 1 && axis.start(0) <= 0 && axis.at(axis.out, 0) >= axis.in;
}

// Planes cut into bands of outputs along the first axis.
struct Bands {
  Bands(const ApartJob& job, int threads) : axis(job.layout.axis[0].axis), outputs(axis.out) {
    row_bytes = job.elem * job.layout.lanes.n;
    for (int a = 1; a < job.layout.pooled(); ++a) row_bytes *= job.layout.axis[at(a)].axis.in;
    if (job.outer > 0) {
      const index_t most = job.stage ? kStageBytes : kBandBytes;
      outputs = std::clamp<index_t>(most / (row_bytes * axis.stride), 1, axis.out);
      if (threads != 1) outputs = std::min(outputs, (axis.out + 7) / 8);  // one plane is work for all threads
    }
    bytes = row_bytes * outputs * axis.stride;
    count = (axis.out + outputs - 1) / outputs;
    for (index_t b : {index_t{0}, count - 1}) most_inputs = std::max(most_inputs, inputs(b).size());
    most_inputs = std::max(most_inputs, outputs * axis.stride);
  }
  Range band(index_t b) const { return {b * outputs, std::min(axis.out, (b + 1) * outputs)}; }
  /// The inputs from the begin of a band's first window to that of the next band.
  Range inputs(index_t b) const {
    const auto begin = [this](index_t o) { return std::clamp<index_t>(axis.start(o), 0, axis.in); };
    return {b == 0 ? 0 : begin(b * outputs), b + 1 == count ? axis.in : begin((b + 1) * outputs)};
  }

  const Axis& axis;
  index_t outputs;
  index_t count = 1;
  index_t row_bytes = 0;  // of dx, by input of the first axis
  index_t bytes = 0;      // of dx in a band
  index_t most_inputs = 0;
};

// One thread's part.
class Sharer {
 public:
  Sharer(const ApartJob& job, const Bands& bands, Arena& arena)
      : job_(job),
        layout_(job.layout),
        bands_(bands),
        k_(apart_table().kernels(job.problem.pool.op, job.problem.dtype)) {
    if (!job.stage) return;
    stage_ = arena.take(bands.most_inputs * bands.row_bytes + kLineBytes);
  }

  void run(index_t plane, index_t band) {
    for (Operand operand : {kX, kY, kIndex}) plane_[operand] = layout_.plane_offset(plane, operand);
    AxisRanges outputs{}, inputs{};
    for (int a = 0; a < job_.outer; ++a) {
      outputs[at(a)] = a == 0 ? bands_.band(band) : Range{0, axis(a).out};
      inputs[at(a)] = a == 0 ? bands_.inputs(band) : Range{0, axis(a).in};
    }
    dx_ = job_.dx;
    const index_t begin = (plane_[kIndex] + inputs[0].begin * layout_.axis[0].pitch[kIndex]) * job_.elem;
    std::byte* const there = job_.dx + begin;
    std::byte* const staged = stage_;  // lines are lines there too
    if (job_.stage) dx_ = staged - begin;
    if (!job_.complete) {
      const index_t bytes = (job_.lanes ? layout_.lanes.n : 1) * (inside() ? row().in : 1) * job_.elem;
      each_place(job_.outer, inputs, [&](const RowCoords& i) {
        std::memset(dx_ + offset(i, kIndex) * job_.elem, 0, at(bytes));
        return true;
      });
    }
    each_run(outputs, [&](const RowCoords& o, index_t times) { share(o, times); });
    if (job_.stage) writer_.write(staged, inputs[0].size() * bands_.row_bytes, there);
  }

 private:
  const Axis& axis(int a) const { return layout_.axis[at(a)].axis; }
  const Axis& row() const { return axis(layout_.pooled() - 1); }
  // Whether the last axis is inside of what kernels go through.
  bool inside() const { return job_.outer < layout_.pooled(); }

  // Calls body(coordinates, times) for the outputs of a box: along its innermost axis those whose windows are whole at
  // once, others alone.
  template <class Body>
  void each_run(AxisRanges box, const Body& body) const {
    if (job_.outer == 0) return body(RowCoords{}, 1);
    const int a = job_.outer - 1;
    const Range along = box[at(a)], full = axis(a).full();
    box[at(a)] = {0, 1};
    each_place(job_.outer, box, [&](RowCoords c) {
      for (index_t o = along.begin; o < along.end;) {
        const index_t times = full.contains(o) ? std::min(along.end, full.end) - o : 1;
        c[at(a)] = o;
        body(c, times);
        o += times;
      }
      return true;
    });
  }

  index_t offset(const RowCoords& c, Operand operand) const {
    index_t sum = plane_[operand];
    for (int a = 0; a < job_.outer; ++a) sum += c[at(a)] * layout_.axis[at(a)].pitch[operand];
    return sum;
  }

  // The rows, or lanes, that the windows at outputs o look at, in scan order.
  int list_taps(const RowCoords& o) {
    index_t* x = x_place_.data();
    index_t* dx = dx_place_.data();
    x[0] = plane_[kX];
    dx[0] = plane_[kIndex];
    int count = 1;
    for (int a = 0; a < job_.outer; ++a) {
      const Pitches& pitch = layout_.axis[at(a)].pitch;
      const Range taps = axis(a).taps(o[at(a)]);
      const index_t n = taps.size();
      for (int b = count - 1; b >= 0; --b) {  // backwards: each is replaced by those that it becomes
        for (index_t t = n - 1; t >= 0; --t) {
          const index_t i = axis(a).at(o[at(a)], taps.begin + t);
          x[b * n + t] = x[b] + i * pitch[kX];
          dx[b * n + t] = dx[b] + i * pitch[kIndex];
        }
      }
      count *= static_cast<int>(n);
    }
    for (int t = 0; t < count; ++t) {
      taps_[at(t)] = {job_.x + x[t] * job_.elem, dx_ + dx[t] * job_.elem};
    }
    return count;
  }

  void share(const RowCoords& o, index_t times) {
    const int count = list_taps(o);
    if (count == 0) return;
    ApartRun run{.times = times};
    if (job_.outer > 0) {
      const PooledAxis& along = layout_.axis[at(job_.outer - 1)];
      const index_t step = along.axis.stride * job_.elem;
      run.x = along.pitch[kX] * step;
      run.dx = along.pitch[kIndex] * step;
      run.dy = along.pitch[kY] * job_.elem;
    }
    const std::byte* dy = job_.dy + offset(o, kY) * job_.elem;
    const index_t lanes = layout_.lanes.n;
    const int step = static_cast<int>(row().stride);
    if (job_.positions) {
      return k_.spread_positions(taps_.data(), count, step, dy, row().out, lanes, job_.divisor, job_.stream, run);
    }
    if (job_.sums && job_.lanes) return k_.spread_lanes(taps_.data(), count, dy, lanes, job_.divisor, run);
    if (job_.sums) return k_.spread_along(taps_.data(), count, step, dy, row().out, job_.divisor, run);
    if (job_.lanes) return k_.choose_lanes(taps_.data(), count, dy, lanes, run);
    k_.choose_along(taps_.data(), count, step, dy, row().out, run);
  }

  const ApartJob& job_;
  const RowLayout& layout_;
  const Bands& bands_;
  const ApartKernels k_;
  std::byte* stage_ = nullptr;
  LineWriter writer_;
  std::byte* dx_ = nullptr;  // that of the call, or what stands for it while the stage is its band
  Pitches plane_{};          // where the plane begins
  std::array<index_t, kMostTaps> x_place_, dx_place_;
  std::array<ApartTap, kMostTaps> taps_;
};

// Sets what all windows of a sum or an average divide by. False where they differ, or floats do not hold it.
bool set_divisor(ApartJob& job) {
  const Pool& pool = job.problem.pool;
  for (const PooledAxis& a : job.layout.axis) {
    if (a.axis.full() != Range{0, a.axis.out}) return false;
    if (pool.op == Op::avg) job.divisor *= static_cast<double>(a.axis.kernel);
  }
  if (pool.op == Op::avg && pool.divisor > 0) job.divisor = static_cast<double>(pool.divisor);
  return job.divisor < (1 << 24);
}

bool has_kernels(const ApartJob& job) {
  const ApartKernels k = apart_table().kernels(job.problem.pool.op, job.problem.dtype);
  if (!job.sums) return k.choose_along != nullptr;
  if (k.spread_along == nullptr) return false;
  return (job.lanes ? job.layout.lanes.n : job.layout.axis[at(job.layout.pooled() - 1)].axis.out) >= k.vector;
}

// None if it is no gradient for this.
std::optional<ApartJob> job_of(const Gradient& gradient) {
  const Problem& problem = gradient.problem;
  const bool sums = problem.pool.op == Op::sum || problem.pool.op == Op::avg;
  if (!sums && problem.pool.op != Op::max && problem.pool.op != Op::min) return {};
  if (problem.pool.nan == NanPolicy::omit || problem.pooled > kMostAxes) return {};
  // Taps are listed in the order of the problem's axes, and equals are told apart by that of the tensor's.
  if (!std::is_sorted(problem.axes.begin(), problem.axes.begin() + problem.pooled)) return {};
  for (int a = 0; a < problem.pooled; ++a) {
    if (!is_apart(problem.axis[at(a)])) return {};
  }
  if (element_count(gradient.dy.shape) == 0) return {};
  const void* x = gradient.x != nullptr ? gradient.x->data : gradient.dx.data;
  ApartJob job{.problem = problem,
               .layout = gradient.layout(),
               .x = static_cast<const std::byte*>(x),
               .dy = static_cast<const std::byte*>(gradient.dy.data),
               .dx = static_cast<std::byte*>(gradient.dx.data),
               .elem = size_bytes(problem.dtype),
               .sums = sums};
  job.lanes = job.layout.lanes.n > 1;
  if (job.lanes ? !is_dense(job.layout.lanes.pitch) : !is_row(job.layout)) return {};
  if (!has_kernels(job) || (sums && !set_divisor(job))) return {};
  return job;
}

}  // namespace

bool can_disjoint(const Gradient& gradient) { return job_of(gradient).has_value(); }

bool disjoint_fills_vectors(const Gradient& gradient) {
  const index_t lanes = gradient.layout().lanes.n;
  return lanes == 1 || lanes >= kFewestLanes;
}

void run_disjoint(const Gradient& gradient, int threads) {
  ApartJob job = *job_of(gradient);
  job.positions = job.lanes && job.sums && is_row_of_positions(job.layout);
  job.outer = job.layout.pooled() - (job.lanes && !job.positions ? 0 : 1);
  set_streams(job);
  job.complete = true;
  for (const PooledAxis& a : job.layout.axis) job.complete &= covers(a.axis);
  const Bands bands(job, threads);
  parallel_for(job.layout.plane_count() * bands.count, bands.bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    Sharer sharer(job, bands, arena);
    for (index_t i = begin; i < end; ++i) sharer.run(i / bands.count, i % bands.count);
    if (job.stream || job.stage) finish_stream();
  });
}

}  // namespace oriel::cpu
