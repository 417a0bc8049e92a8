#include "cpu/apart_gradient.h"

#include <algorithm>
#include <cstring>

#include "cpu/apart_kernels.h"
#include "cpu/layout.h"
#include "cpu/parallel.h"
#include "cpu/places.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBandBytes = index_t{64} << 10;  // of dx: zeros that come first are still in a cache
constexpr index_t kFewestOutputs = 8;              // of a row that fills vectors
constexpr int kMostTaps = kMostPlaceTaps * kMostPlaceTaps * kMostPlaceTaps;
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

using Coords = std::array<index_t, kMostPlaceAxes>;
using Box = std::array<Range, kMostPlaceAxes>;

struct ApartJob {
  const Problem& problem;
  RowLayout layout;  // kX: x, kY: dy, kIndex: dx
  const std::byte* x;
  const std::byte* dy;
  std::byte* dx;
  index_t elem = 4;
  bool lanes = false;      // windows of lanes, or else beside each other along rows
  bool positions = false;  // lanes of sums, and a row of such windows is one call
  bool stream = false;
  int outer = 0;          // axes that are visited: all, or all but that of rows
  bool complete = false;  // every input is in a window
  bool sums = false;      // sums and averages
  double divisor = 1;     // of all their windows
};

bool is_dense(const Pitches& p) { return p[kX] == 1 && p[kY] == 1 && p[kIndex] == 1; }

bool is_apart(const Axis& axis) {
  return !axis.adaptive && axis.spacing == 1 && axis.kernel <= kMostPlaceTaps && axis.stride >= axis.extent();
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

// Whether dx is large, and runs that are written at once are whole lines of the caches.
bool goes_past_caches(const ApartJob& job) {
  const RowLayout& layout = job.layout;
  const Axis& row = layout.axis[at(layout.pooled() - 1)].axis;
  const auto whole_lines = [&](index_t elements) { return elements * job.elem % kLineBytes == 0; };
  bool lines = reinterpret_cast<std::uintptr_t>(job.dx) % kLineBytes == 0 && job.elem >= 4;  // else half a line each
  lines &= whole_lines(job.lanes ? layout.lanes.n : row.out * row.kernel);
  for (const LoopDim& d : layout.planes) lines &= whole_lines(d.pitch[kIndex]);
  for (int a = 0; a < layout.pooled() - (job.lanes ? 0 : 1); ++a)
    lines &= whole_lines(layout.axis[at(a)].pitch[kIndex]);
  return lines && element_count(job.problem.shape) * job.elem >= stream_bytes;
}

bool covers(const Axis& axis) {
  return axis.stride == axis.kernel && axis.dilation == 1 && axis.start(0) <= 0 && axis.at(axis.out, 0) >= axis.in;
}

// Planes cut into bands of outputs along the first axis.
struct Bands {
  Bands(const ApartJob& job, int threads) : axis(job.layout.axis[0].axis), outputs(axis.out) {
    bytes = job.elem * job.layout.lanes.n;  // of dx, by input of the first axis
    for (int a = 1; a < job.layout.pooled(); ++a) bytes *= job.layout.axis[at(a)].axis.in;
    if (job.outer > 0) {
      outputs = std::clamp<index_t>(kBandBytes / (bytes * axis.stride), 1, axis.out);
      if (threads != 1) outputs = std::min(outputs, (axis.out + 7) / 8);  // one plane is work for all threads
    }
    bytes *= outputs * axis.stride;
    count = (axis.out + outputs - 1) / outputs;
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
  index_t bytes = 0;  // of dx in a band
};

// One thread's part.
class Sharer {
 public:
  Sharer(const ApartJob& job, const Bands& bands)
      : job_(job),
        layout_(job.layout),
        bands_(bands),
        k_(apart_table().kernels(job.problem.pool.op, job.problem.dtype)) {}

  void run(index_t plane, index_t band) {
    for (Operand operand : {kX, kY, kIndex}) plane_[operand] = layout_.plane_offset(plane, operand);
    Box outputs{}, inputs{};
    for (int a = 0; a < job_.outer; ++a) {
      outputs[at(a)] = a == 0 ? bands_.band(band) : Range{0, axis(a).out};
      inputs[at(a)] = a == 0 ? bands_.inputs(band) : Range{0, axis(a).in};
    }
    if (!job_.complete) {
      const index_t bytes = (job_.lanes ? layout_.lanes.n : 1) * (inside() ? row().in : 1) * job_.elem;
      each(inputs, [&](const Coords& i) { std::memset(job_.dx + offset(i, kIndex) * job_.elem, 0, at(bytes)); });
    }
    each(outputs, [&](const Coords& o) { share(o); });
  }

 private:
  const Axis& axis(int a) const { return layout_.axis[at(a)].axis; }
  const Axis& row() const { return axis(layout_.pooled() - 1); }
  // Whether the last axis is inside of what kernels go through.
  bool inside() const { return job_.outer < layout_.pooled(); }

  // Calls body(coordinates) for all of a box of the outer axes.
  template <class Body>
  void each(const Box& box, const Body& body) const {
    Coords c{};
    for (int a = 0; a < job_.outer; ++a) {
      if (box[at(a)].empty()) return;
      c[at(a)] = box[at(a)].begin;
    }
    for (int a = 0; a >= 0;) {
      body(c);
      for (a = job_.outer - 1; a >= 0 && ++c[at(a)] == box[at(a)].end; --a) c[at(a)] = box[at(a)].begin;
    }
  }

  index_t offset(const Coords& c, Operand operand) const {
    index_t sum = plane_[operand];
    for (int a = 0; a < job_.outer; ++a) sum += c[at(a)] * layout_.axis[at(a)].pitch[operand];
    return sum;
  }

  // The rows, or lanes, that the windows at outputs o look at, in scan order.
  int list_taps(const Coords& o) {
    index_t* x = x_.data();
    index_t* dx = dx_.data();
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
      taps_[at(t)] = {job_.x + x[t] * job_.elem, job_.dx + dx[t] * job_.elem};
    }
    return count;
  }

  void share(const Coords& o) {
    const int count = list_taps(o);
    if (count == 0) return;
    const std::byte* dy = job_.dy + offset(o, kY) * job_.elem;
    const int step = static_cast<int>(row().stride);
    if (job_.positions) {
      return k_.spread_positions(taps_.data(), count, step, dy, row().out, layout_.lanes.n, job_.divisor, job_.stream);
    }
    if (job_.sums && job_.lanes) return k_.spread_lanes(taps_.data(), count, dy, layout_.lanes.n, job_.divisor);
    if (job_.sums) return k_.spread_along(taps_.data(), count, step, dy, row().out, job_.divisor, job_.stream);
    if (job_.lanes) return k_.choose_lanes(taps_.data(), count, dy, layout_.lanes.n);
    k_.choose_along(taps_.data(), count, step, dy, row().out);
  }

  const ApartJob& job_;
  const RowLayout& layout_;
  const Bands& bands_;
  const ApartKernels k_;
  Pitches plane_{};  // where the plane begins
  std::array<index_t, kMostTaps> x_, dx_;
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

}  // namespace

bool apart_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, int threads,
                    index_t fewest_lanes) {
  const bool sums = problem.pool.op == Op::sum || problem.pool.op == Op::avg;
  if (!sums && problem.pool.op != Op::max && problem.pool.op != Op::min) return false;
  if (problem.pool.nan == NanPolicy::omit || problem.pooled > kMostPlaceAxes) return false;
  // Taps are listed in the order of the problem's axes, and equals are told apart by that of the tensor's.
  if (!std::is_sorted(problem.axes.begin(), problem.axes.begin() + problem.pooled)) return false;
  for (int a = 0; a < problem.pooled; ++a) {
    if (!is_apart(problem.axis[at(a)])) return false;
  }
  if (element_count(dy.shape) == 0) return false;
  const ConstTensor& from = sums ? dx : *x;  // sums do not look at their inputs
  Tensor dy_pitches = dx;                    // a layout asks tensors of outputs for nothing but pitches
  dy_pitches.pitch = dy.pitch;
  ApartJob job{.problem = problem,
               .layout = make_layout(problem, problem.axis, from, dy_pitches, &dx, IndexSpace::window),
               .x = static_cast<const std::byte*>(from.data),
               .dy = static_cast<const std::byte*>(dy.data),
               .dx = static_cast<std::byte*>(dx.data),
               .elem = size_bytes(problem.dtype),
               .sums = sums};
  job.lanes = job.layout.lanes.n > 1;
  if (job.lanes ? !is_dense(job.layout.lanes.pitch) : !is_row(job.layout)) return false;
  if (job.lanes && job.layout.lanes.n < fewest_lanes) return false;
  if (!has_kernels(job) || (sums && !set_divisor(job))) return false;
  job.positions = job.lanes && sums && is_row_of_positions(job.layout);
  job.outer = job.layout.pooled() - (job.lanes && !job.positions ? 0 : 1);
  job.stream = sums && (job.positions || !job.lanes) && goes_past_caches(job);
  job.complete = true;
  for (const PooledAxis& a : job.layout.axis) job.complete &= covers(a.axis);
  const Bands bands(job, threads);
  parallel_for(job.layout.plane_count() * bands.count, bands.bytes, threads, [&](index_t begin, index_t end) {
    Sharer sharer(job, bands);
    for (index_t i = begin; i < end; ++i) sharer.run(i / bands.count, i % bands.count);
    if (job.stream) finish_stream();
  });
  return true;
}

}  // namespace oriel::cpu
