#include "cpu/code_gradient/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu/code_gradient/check.h"
#include "cpu/code_gradient/reader_lists.h"
#include "cpu/code_gradient/scatter.h"
#include "cpu/indexed/scatter.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/kept.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBandBytes = index_t{64} << 10;  // of dx
constexpr index_t kNarrow = 16;                    // inputs of a row that are worth vectors of 16 lanes
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

struct CodeJob {
  const Problem& problem;
  RowLayout layout;
  const std::byte* dy;
  const Code* code;
  std::byte* dx;
  CodeGatherKernels kernels;
  CodeShape shape{};
  index_t elem = 4;
  index_t groups = 1;                // planes, or where a row is several of them, rows
  index_t in = 1, out = 1;           // elements of a plane
  Range dy_planes{}, code_planes{};  // where the planes begin that are first and last in memory
  index_t bands = 1;                 // of a plane
  bool stream = false;

  index_t planes() const { return layout.plane_count(); }
};

// Whether the operand's planes are runs of memory: pooled axes in their order, then lanes.
bool is_dense(const RowLayout& layout, Operand operand) {
  index_t n = layout.lanes.n;
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    if (layout.axis[at(a)].pitch[operand] != n) return false;
    n *= operand == kDx ? layout.axis[at(a)].axis.in : layout.axis[at(a)].axis.out;
  }
  return true;
}

// Whether planes stand one behind the other, `n` elements each.
bool is_stacked(const RowLayout& layout, Operand operand, index_t n) {
  for (const LoopDim* d = layout.planes.end(); d != layout.planes.begin();) {
    --d;
    if (d->pitch[operand] != n) return false;
    n *= d->n;
  }
  return true;
}

bool is_row(const RowLayout& layout, Operand operand) { return layout.axis.end()[-1].pitch[operand] == layout.lanes.n; }

template <class Holds>
bool all_operands(const Holds& holds) {
  return holds(kDx) && holds(kDy) && holds(kCode);
}

// Dimensions of planes that go on in each other become one.
void join_planes(RowLayout& layout) {
  InlineList<LoopDim, kMaxRank> joined;
  for (const LoopDim& d : layout.planes) {
    const auto goes_on = [&](Operand operand) { return joined.back().pitch[operand] == d.n * d.pitch[operand]; };
    if (!joined.empty() && all_operands(goes_on)) {
      joined.back() = {joined.back().n * d.n, d.pitch};
    } else {
      joined.push_back(d);
    }
  }
  layout.planes = joined;
}

bool weaves(const CodeJob& job) {
  const Axis& row = job.layout.axis.end()[-1].axis;
  return job.kernels.gather_woven != nullptr && job.layout.lanes.n == 1 && !row.adaptive && row.spacing == 1 &&
         row.dilation == 1 && row.first <= 0 && is_woven(row.kernel, row.stride);
}

// How a problem is gathered, if it is.
std::optional<GatherWay> way_of(const CodeJob& job) {
  const RowLayout& layout = job.layout;
  const bool lanes = layout.lanes.n > 1;
  const index_t vector = job.kernels.lanes;
  for (Operand operand : {kDx, kDy, kCode}) {
    if (lanes && layout.lanes.pitch[operand] != 1) return {};
    for (const PooledAxis& a : layout.axis) {
      if (a.pitch[operand] < 0) return {};
    }
  }
  if (lanes && layout.lanes.n >= vector) return GatherWay::lanes;
  if (layout.row_axis != layout.pooled() - 1) return {};
  const Axis& row = layout.axis.end()[-1].axis;
  const index_t width = row.in * layout.lanes.n;
  const bool rows = all_operands([&](Operand o) { return is_row(layout, o); });
  if (rows && weaves(job) && width >= kNarrow * vector / 16) return GatherWay::woven;
  if (width >= vector) return rows ? std::optional(GatherWay::along) : std::nullopt;
  if (!all_operands([&](Operand o) { return is_dense(layout, o); })) return {};
  if (job.in >= vector ||
      (is_stacked(layout, kDx, job.in) && is_stacked(layout, kDy, job.out) && is_stacked(layout, kCode, job.out))) {
    return GatherWay::whole;
  }
  return {};
}

// About how long a plane of inputs takes to gather, in tenths of nanoseconds: times within the second cache, of 7x7 to
// 112x112 inputs and windows of 2x2 to 5x5.
index_t gather_cost(const CodeJob& job, GatherWay way) {
  constexpr index_t kTerm = 10, kLaneTerm = 4, kWovenTerm = 5, kWovenRow = 60;
  const Axis& last = job.layout.axis.end()[-1].axis;
  if (way == GatherWay::woven) {
    index_t rows = 1, taps = 1, steps = 1;
    for (const PooledAxis& a : job.layout.axis) {
      if (&a == job.layout.axis.end() - 1) break;
      rows *= a.axis.in;
      taps *= a.axis.adaptive ? 2 : a.axis.kernel;
      steps *= a.axis.adaptive ? 1 : a.axis.stride;
    }
    const index_t vectors = ceil_div(ceil_div(last.in, last.stride), job.kernels.lanes);
    return rows * kWovenRow + rows * taps / steps * last.kernel * vectors * kWovenTerm;
  }
  index_t readers = 1;
  for (const PooledAxis& a : job.layout.axis) {
    readers *= a.axis.adaptive ? 2 : ceil_div(a.axis.kernel, a.axis.stride);
  }
  const index_t row = way == GatherWay::whole   ? job.in
                      : way == GatherWay::lanes ? job.layout.lanes.n
                                                : last.in * job.layout.lanes.n;
  return job.in / row * ceil_div(row, job.kernels.lanes) * readers * (way == GatherWay::lanes ? kLaneTerm : kTerm);
}

// The same of scattering: each output goes to one input, which was set to 0 before; sums of narrow types are rounded.
index_t scatter_cost(const CodeJob& job) {
  constexpr index_t kOutput = 7, kInput = 1, kNarrowInput = 30;
  return job.out * kOutput + job.in * (job.elem < 4 ? kNarrowInput : kInput);
}

Range plane_begins(const RowLayout& layout, Operand operand) {
  Range begins{0, 0};
  for (const LoopDim& d : layout.planes) {
    const index_t last = (d.n - 1) * d.pitch[operand];
    (last < 0 ? begins.begin : begins.end) += last;
  }
  return begins;
}

void set_shape(CodeJob& job, GatherWay way) {
  job.shape.axis = job.layout.axis;
  for (PooledAxis& a : job.shape.axis) a.pitch[kFlat] = 0;
  job.shape.lanes = job.layout.lanes;
  job.shape.lanes.pitch[kFlat] = 0;
  job.shape.way = way;
  job.shape.vector = job.kernels.lanes;
  job.shape.planes = job.in >= job.kernels.lanes ? 1 : ceil_div(4 * job.kernels.lanes, job.in);
}

void set_bands(CodeJob& job, int threads) {
  job.groups = ceil_div(job.planes(), job.shape.planes);
  job.dy_planes = plane_begins(job.layout, kDy);
  job.code_planes = plane_begins(job.layout, kCode);
  index_t rows = 1;
  if (job.shape.way != GatherWay::whole) rows = job.in / (job.layout.axis.end()[-1].axis.in * job.layout.lanes.n);
  job.bands = std::min(rows, ceil_div(job.in * job.elem, kBandBytes));
  if (threads != 1 && job.groups < 16) job.bands = std::min(rows, std::max<index_t>(job.bands, 8));
  const index_t bytes = element_count(job.problem.shape) * job.elem;
  const index_t row = job.in / rows * job.shape.planes * job.elem;
  job.stream =
      bytes >= stream_bytes && row % kLineBytes == 0 && reinterpret_cast<std::uintptr_t>(job.dx) % kLineBytes == 0;
  for (const LoopDim& d : job.layout.planes) job.stream &= d.pitch[kDx] * job.elem % kLineBytes == 0;
  for (const PooledAxis& a : job.layout.axis) {
    const bool along = job.shape.way != GatherWay::lanes && &a == job.layout.axis.end() - 1;
    job.stream &= job.shape.way == GatherWay::whole || along || a.pitch[kDx] * job.elem % kLineBytes == 0;
  }
  if (job.shape.way == GatherWay::lanes) job.stream &= job.layout.lanes.n % job.kernels.lanes == 0;
}

// One thread's part.
class CodeGatherer {
 public:
  CodeGatherer(const CodeJob& job, CodeLists& lists, CodeCheck& check, Arena& arena)
      : job_(job), lists_(lists), check_(check), arena_(arena) {
    lists_.make(job.shape);
    check_.make(job.shape);
  }

  // False where a code is of no tap.
  bool run(index_t group, index_t band) {
    const auto part = [&](index_t n) { return Range{n * band / job_.bands, n * (band + 1) / job_.bands}; };
    const index_t first = group * job_.shape.planes;
    const index_t planes = std::min(job_.shape.planes, job_.planes() - first);
    const Pitches begin = offsets(first);
    CodePlane plane = {job_.dy + begin[kDy] * job_.elem, job_.code + begin[kCode], job_.dx + begin[kDx] * job_.elem};
    if (planes < job_.shape.planes) return run_few(plane, planes);
    if (!check_.exist(plane.code, part(check_.rows()))) return false;
    const Range rows = part(lists_.input_rows());
    if (job_.shape.way == GatherWay::lanes) {
      job_.kernels.gather_lanes(lists_.rows(), rows, plane, job_.stream);
      return true;
    }
    const index_t end = (planes - 1) * job_.out;
    const bool first_one =
        std::min(begin[kDy] - job_.dy_planes.begin, begin[kCode] - job_.code_planes.begin) < lists_.before();
    const bool last_one =
        std::min(job_.dy_planes.end - begin[kDy], job_.code_planes.end - begin[kCode]) - end < lists_.after();
    if (first_one || last_one) plane = with_slack(plane, rows);
    const bool woven = job_.shape.way == GatherWay::woven;
    (woven ? job_.kernels.gather_woven : job_.kernels.gather_along)(lists_.rows(), rows, plane, job_.stream);
    return true;
  }

 private:
  Pitches offsets(index_t plane) const {
    Pitches p{};
    const auto& dims = job_.layout.planes;
    for (Operand operand : {kDx, kDy, kCode}) {  // mostly one dimension, and then without a division
      p[operand] = dims.size() == 1 ? plane * dims.end()[-1].pitch[operand] : job_.layout.plane_offset(plane, operand);
    }
    return p;
  }

  // The outputs that rows of inputs look at, where a vector may be read from each of them on.
  CodePlane with_slack(const CodePlane& plane, Range rows) {
    const GatheredRows& all = lists_.rows();
    const index_t row = job_.shape.row_outputs();
    Range dy{highest_value<index_t>(), 0}, code = dy;
    for (index_t r = all.readers.begin[rows.begin]; r < all.readers.begin[rows.end]; ++r) {
      const CodeReader& reader = all.readers.all[r];
      dy = {std::min(dy.begin, reader.dy), std::max(dy.end, reader.dy + row)};
      code = {std::min(code.begin, reader.code), std::max(code.end, reader.code + row)};
    }
    if (dy.empty()) return plane;
    arena_.reset();
    const auto copy = [&](const std::byte* from, Range there, index_t elem) {
      const index_t before = lists_.before() * elem, after = lists_.after() * elem, bytes = there.size() * elem;
      std::byte* to = arena_.take(before + bytes + after);
      std::memset(to, 0, at(before));
      std::memcpy(to + before, from + there.begin * elem, at(bytes));
      std::memset(to + before + bytes, 0, at(after));
      return to + before - there.begin * elem;
    };
    const std::byte* gradients = copy(plane.dy, dy, job_.elem);
    return {gradients, reinterpret_cast<const Code*>(copy(reinterpret_cast<const std::byte*>(plane.code), code, 1)),
            plane.dx};
  }

  // Fewer planes than a row of several.
  bool run_few(const CodePlane& plane, index_t planes) {
    const index_t row = job_.shape.planes * job_.out, there = planes * job_.out, slack = job_.kernels.lanes;
    arena_.reset();
    std::byte* gradients = arena_.take((row + slack) * job_.elem);
    std::memset(gradients, 0, at((row + slack) * job_.elem));
    std::memcpy(gradients, plane.dy, at(there * job_.elem));
    Code* codes = arena_.take_array<Code>(row + slack);
    std::memset(codes, 0xff, at(row + slack));
    std::memcpy(codes, plane.code, at(there));
    if (!check_.exist(codes, {0, 1})) return false;
    std::byte* dx = arena_.take(job_.shape.planes * job_.in * job_.elem);
    job_.kernels.gather_along(lists_.rows(), {0, 1}, {gradients, codes, dx}, false);
    std::memcpy(plane.dx, dx, at(planes * job_.in * job_.elem));
    return true;
  }

  const CodeJob& job_;
  CodeLists& lists_;
  CodeCheck& check_;
  Arena& arena_;
};

bool gather_codes(const CodeJob& job, int threads) {
  std::atomic<bool> good{true};
  const index_t bytes = job.shape.planes * (job.in + job.out) * job.elem / job.bands;
  parallel_for(job.groups * job.bands, bytes, threads, [&](index_t begin, index_t end) {
    Kept<CodeLists> lists;
    Kept<CodeCheck> check;
    Arena arena;
    CodeGatherer gatherer(job, *lists, *check, arena);
    for (index_t i = begin; i < end; ++i) {
      if (!gatherer.run(i / job.bands, i % job.bands)) good.store(false, std::memory_order_relaxed);
    }
    if (job.stream) finish_stream();
  });
  return good.load();
}

bool has_byte_codes(const Gradient& gradient) {
  // Terms are added in the order of the tensor's axes (S9), and lists go through those of the problem.
  const auto& axes = gradient.problem.axes;
  return gradient.index->dtype == Dtype::u8 && std::is_sorted(axes.begin(), axes.begin() + gradient.problem.pooled) &&
         element_count(gradient.dy.shape) != 0 && element_count(gradient.dx.shape) != 0;
}

CodeJob job_of(const Gradient& gradient) {
  CodeJob job{.problem = gradient.problem,
              .layout = gradient.layout(),
              .dy = static_cast<const std::byte*>(gradient.dy.data),
              .code = static_cast<const Code*>(gradient.index->data),
              .dx = static_cast<std::byte*>(gradient.dx.data),
              .kernels = code_gather_table().kernels(gradient.problem.dtype),
              .elem = size_bytes(gradient.problem.dtype)};
  join_planes(job.layout);
  job.in = job.out = job.layout.lanes.n;
  for (const PooledAxis& a : job.layout.axis) {
    job.in *= a.axis.in;
    job.out *= a.axis.out;
  }
  return job;
}

std::optional<GatherWay> way_it_can(const CodeJob& job) {
  const bool few = job.kernels.lanes > 0 && job.problem.taps() <= kMostGatheredTaps;
  return few ? way_of(job) : std::nullopt;
}

}  // namespace

bool can_gather_codes(const Gradient& gradient) {
  return has_byte_codes(gradient) && way_it_can(job_of(gradient)).has_value();
}

bool gathering_codes_pays(const Gradient& gradient) {
  const CodeJob job = job_of(gradient);
  return gather_cost(job, *way_it_can(job)) <= scatter_cost(job);
}

void run_gathered_codes(const Gradient& gradient, int threads) {
  CodeJob job = job_of(gradient);
  set_shape(job, *way_it_can(job));
  set_bands(job, threads);
  if (!gather_codes(job, threads)) run_widened(gradient, threads);  // which says what is wrong
}

bool can_scatter_codes(const Gradient& gradient) {
  return has_byte_codes(gradient) && scatters_codes(job_of(gradient).layout);
}

void run_scattered_codes(const Gradient& gradient, int threads) {
  const CodeJob job = job_of(gradient);
  if (!scatter_codes(job.problem, job.layout, job.dy, job.code, job.dx, threads)) run_widened(gradient, threads);
}

std::optional<GatherWay> gather_way(const Gradient& gradient) {
  const CodeJob job = job_of(gradient);
  const std::optional<GatherWay> way = way_it_can(job);
  return way && gather_cost(job, *way) <= scatter_cost(job) ? way : std::nullopt;
}

}  // namespace oriel::cpu
