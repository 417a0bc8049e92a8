#include "cpu/code_gradient/scatter.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu/code_gradient/check.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/kept.h"
#include "cpu/runtime/parallel.h"
#include "cpu/runtime/scatter_sum.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBandBytes = index_t{256} << 10;  // of sums: they stay in the second cache
constexpr index_t kHalo = 4;    // a band is no less than so many windows, as outputs between two are looked at twice
constexpr index_t kPlanes = 4;  // that take turns: an output often goes where the one before it went, and waits for it
constexpr index_t kMostLanes = 64;    // the same of channels
constexpr index_t kMostWhole = 4096;  // outputs of a plane that is checked in one run
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

struct ScatterJob {
  const Problem& problem;
  const RowLayout& layout;
  const std::byte* dy;
  const Code* code;
  std::byte* dx;
  LoopDim side{};      // planes side by side that are taken together: channels, or those of the last dimension
  index_t width = 1;   // how many of them at a time
  index_t groups = 1;  // of them in all
  Range band{};        // inputs along the first axis: of every band but the last
  index_t bands = 1;
  bool runs = false;  // planes of dx are runs of memory
  CodeShape checked{};
  index_t shares = 1;  // in which the rows of a group's codes are checked; where there are several, before all else
};

const Axis& axis_of(const RowLayout& layout, int a) { return layout.axis[at(a)].axis; }

// Taken by one thread.
template <class T>
class CodeScatterer {
  using A = accumulator_t<T>;
  static constexpr bool kDirect = std::is_same_v<A, T>;  // sums are made in dx

 public:
  CodeScatterer(const ScatterJob& job, CodeCheck& check, Arena& arena)
      : job_(job), layout_(job.layout), check_(check), last_(job.layout.pooled() - 1) {
    check_.make(job.checked);
    const bool lanes = layout_.lanes.n > 1;
    index_t cells = lanes ? job.width : 1;
    for (int a = last_; a >= 0; --a) {
      cell_pitch_[at(a)] = kDirect ? layout_.axis[at(a)].pitch[kDx] : cells;
      cells *= a == 0 ? job.band.size() : axis(a).in;
    }
    cell_side_ = kDirect ? job.side.pitch[kDx] : lanes ? 1 : cells;
    if (!lanes) cells *= job.width;
    if (!kDirect) scratch_ = arena.take_array<A>(cells);
    const auto steps = job.checked.steps();
    const index_t taps = steps[0] * axis(0).kernel;
    step_ = arena.take_array<index_t>(taps);
    row_ = arena.take_array<index_t>(taps);
    for (index_t code = 0; code < taps; ++code) {
      step_[code] = 0;
      row_[code] = code / steps[0] * axis(0).dilation;
      for (int a = 0; a <= last_; ++a) {
        step_[code] += code / steps[at(a)] % axis(a).kernel * axis(a).dilation * cell_pitch_[at(a)];
      }
    }
    first_ = arena.take_array<index_t>(axis(last_).out);
    for (index_t o = 0; o < axis(last_).out; ++o) first_[o] = axis(last_).start(o) * cell_pitch_[at(last_)];
  }

  // Looks at one share of the codes of a group alone.
  bool check(index_t group, index_t share) {
    set_group(group);
    return exist(group, share);
  }

  // False where a code is of no tap: sums would go astray.
  bool run(index_t group, index_t band) {
    set_group(group);
    band_ = {band * job_.band.size(), std::min(axis(0).in, (band + 1) * job_.band.size())};
    if (job_.shares == 1 && !exist(group, 0)) return false;
    sums_ = kDirect ? reinterpret_cast<A*>(job_.dx) + begin_[kDx] : scratch_ - band_.begin * cell_pitch_[0];
    each_cell([](A& sum, T&) { sum = A{0}; });
    add_outputs();
    if constexpr (!kDirect) each_cell([](A& sum, T& dx) { dx = rounded_sum<T>(sum); });
    return true;
  }

 private:
  const Axis& axis(int a) const { return axis_of(layout_, a); }

  index_t parts() const { return ceil_div(job_.side.n, job_.width); }

  // Channels share rows of codes: those of all are checked, a share of the rows with each part of them.
  bool exist(index_t group, index_t band) const {
    const bool by_lane = layout_.lanes.n > 1;
    const index_t part = group % parts(), share = by_lane ? part * job_.bands + band : band;
    const Range rows = {check_.rows() * share / job_.shares, check_.rows() * (share + 1) / job_.shares};
    const Code* code = job_.code + begin_[kCode];
    if (by_lane) return check_.exist(code - part * job_.width, rows);
    for (index_t p = 0; p < planes_; ++p) {
      if (!check_.exist(code + p * job_.side.pitch[kCode], rows)) return false;
    }
    return true;
  }

  void set_group(index_t group) {
    const index_t part = group % parts(), outer = group / parts();
    planes_ = std::min(job_.width, job_.side.n - part * job_.width);
    const index_t plane = layout_.lanes.n > 1 ? outer : outer * job_.side.n;
    for (Operand operand : {kDx, kDy, kCode}) {
      begin_[operand] = layout_.plane_offset(plane, operand) + part * job_.width * job_.side.pitch[operand];
    }
  }

  // Calls body(sum, element of dx) for all inputs of the band.
  template <class Body>
  void each_cell(const Body& body) const {
    if (job_.runs) {
      const index_t pitch = cell_pitch_[0], begin = band_.begin * pitch;
      T* dx = reinterpret_cast<T*>(job_.dx) + begin_[kDx] + begin;
      each_of({planes_, job_.side.pitch}, cell_side_, {band_.size() * pitch, {1, 1, 1, 1}}, 1, sums_ + begin, dx, body);
      return;
    }
    std::array<index_t, kMaxPooledAxes> i{};
    i[0] = band_.begin;
    const Range along = last_ == 0 ? band_ : Range{0, axis(last_).in};
    for (int a = 0; a >= 0;) {
      index_t cell = 0, out = begin_[kDx];
      for (int b = 0; b < last_; ++b) {
        cell += i[at(b)] * cell_pitch_[at(b)];
        out += i[at(b)] * layout_.axis[at(b)].pitch[kDx];
      }
      const LoopDim row = {along.size(), layout_.axis[at(last_)].pitch};
      A* sums = sums_ + cell + along.begin * cell_pitch_[at(last_)];
      T* dx = reinterpret_cast<T*>(job_.dx) + out + along.begin * row.pitch[kDx];
      const LoopDim side = {planes_, job_.side.pitch};
      if (layout_.lanes.n > 1) {  // which are the denser ones
        each_of(row, cell_pitch_[at(last_)], side, cell_side_, sums, dx, body);
      } else {
        each_of(side, cell_side_, row, cell_pitch_[at(last_)], sums, dx, body);
      }
      for (a = last_ - 1; a >= 0 && ++i[at(a)] == (a == 0 ? band_.end : axis(a).in); --a) {
        i[at(a)] = a == 0 ? band_.begin : 0;
      }
    }
  }

  template <class Body>
  static void each_of(const LoopDim& outer, index_t outer_sums, const LoopDim& inner, index_t inner_sums, A* sums,
                      T* dx, const Body& body) {
    if (inner_sums == 1 && inner.pitch[kDx] == 1 && outer_sums == inner.n && outer.pitch[kDx] == inner.n) {
      for (index_t i = 0; i < outer.n * inner.n; ++i) body(sums[i], dx[i]);
      return;
    }
    for (index_t o = 0; o < outer.n; ++o) {
      A* sum = sums + o * outer_sums;
      T* to = dx + o * outer.pitch[kDx];
      if (inner_sums == 1 && inner.pitch[kDx] == 1) {
        for (index_t i = 0; i < inner.n; ++i) body(sum[i], to[i]);
      } else {
        for (index_t i = 0; i < inner.n; ++i) body(sum[i * inner_sums], to[i * inner.pitch[kDx]]);
      }
    }
  }

  // In ascending order (S9).
  void add_outputs() const {
    const Range outputs = axis(0).feeds(band_);
    if (outputs.empty()) return;
    std::array<index_t, kMaxPooledAxes> o{};
    o[0] = outputs.begin;
    const Range along = last_ == 0 ? outputs : Range{0, axis(last_).out};
    for (int a = 0; a >= 0;) {
      index_t cell = 0, code = begin_[kCode], dy = begin_[kDy];
      for (int b = 0; b < last_; ++b) {
        const Pitches& pitch = layout_.axis[at(b)].pitch;
        cell += axis(b).start(o[at(b)]) * cell_pitch_[at(b)];
        code += o[at(b)] * pitch[kCode];
        dy += o[at(b)] * pitch[kDy];
      }
      const T* terms = reinterpret_cast<const T*>(job_.dy) + dy;
      const index_t row = axis(0).start(o[0]) - band_.begin;
      if (job_.bands > 1) {
        add_row<true, 0>(along, job_.code + code, terms, cell, row);
      } else if (planes_ == kPlanes) {
        add_row<false, kPlanes>(along, job_.code + code, terms, cell, row);
      } else {
        add_row<false, 0>(along, job_.code + code, terms, cell, row);
      }
      for (a = last_ - 1; a >= 0 && ++o[at(a)] == (a == 0 ? outputs.end : axis(a).out); --a) {
        o[at(a)] = a == 0 ? outputs.begin : 0;
      }
    }
  }

  // Outputs `along` the last axis, whose windows begin `row` inputs after the band along the first one; kCount planes,
  // or any number where it is 0.
  template <bool kBanded, int kCount>
  void add_row(Range along, const Code* code, const T* dy, index_t cell, index_t row) const {
    const Pitches pitch = layout_.axis[at(last_)].pitch, side = job_.side.pitch;
    const index_t count = kCount > 0 ? kCount : planes_, cell_side = cell_side_, inputs = band_.size();
    const index_t *first = first_, *step = step_;
    A* sums = sums_ + cell;
    for (index_t o = along.begin; o < along.end; ++o) {
      A* to = sums + first[o];
      for (index_t p = 0; p < count; ++p) {
        const Code c = code[o * pitch[kCode] + p * side[kCode]];
        if (c == 255) continue;  // a window without taps
        if (kBanded) {
          const index_t begin = last_ == 0 ? axis(0).start(o) - band_.begin : row;
          if (static_cast<std::uint64_t>(begin + row_[c]) >= static_cast<std::uint64_t>(inputs)) continue;
        }
        add_to_sum(to[step[c] + p * cell_side], static_cast<A>(dy[o * pitch[kDy] + p * side[kDy]]));
      }
    }
  }

  const ScatterJob& job_;
  const RowLayout& layout_;
  CodeCheck& check_;
  const int last_;
  std::array<index_t, kMaxPooledAxes> cell_pitch_{};
  index_t cell_side_ = 1;  // from a plane to the next
  A* scratch_ = nullptr;
  index_t* step_ = nullptr;   // by code: cells from a window's begin,
  index_t* row_ = nullptr;    // and inputs along the first axis
  index_t* first_ = nullptr;  // by output along the last axis: the cell where its window begins
  Pitches begin_{};           // of the group
  index_t planes_ = 1;
  Range band_{};
  A* sums_ = nullptr;  // input 0, were it in the band
};

void set_checked(ScatterJob& job) {
  CodeShape& shape = job.checked;
  index_t n = job.layout.lanes.n, outputs = n;
  bool dense = true;
  for (int a = job.layout.pooled() - 1; a >= 0; --a) {
    dense &= job.layout.axis[at(a)].pitch[kCode] == outputs;
    outputs *= axis_of(job.layout, a).out;
  }
  shape.axis = job.layout.axis;
  shape.lanes = job.layout.lanes;
  shape.way = n > 1                                              ? GatherWay::lanes
              : dense && outputs <= kMostWhole && job.bands == 1 ? GatherWay::whole
                                                                 : GatherWay::along;
  for (PooledAxis& a : shape.axis) a.pitch = {0, 0, a.pitch[kCode], 0};
  shape.lanes.pitch = {0, 0, shape.lanes.pitch[kCode], 0};
}

bool are_runs(const RowLayout& layout) {
  index_t n = 1;
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    if (layout.axis[at(a)].pitch[kDx] != n) return false;
    n *= axis_of(layout, a).in;
  }
  return layout.lanes.n == 1;
}

// Which planes are taken together, and which inputs.
void set_parts(ScatterJob& job, index_t sum_bytes, int threads) {
  const RowLayout& layout = job.layout;
  const bool lanes = layout.lanes.n > 1;
  if (lanes) {
    job.side = layout.lanes;
  } else if (!layout.planes.empty()) {
    job.side = layout.planes.end()[-1];
  }
  job.width = std::min(job.side.n, lanes ? kMostLanes : kPlanes);
  job.groups = layout.plane_count() / (lanes ? 1 : job.side.n) * ceil_div(job.side.n, job.width);
  index_t step_bytes = job.width * sum_bytes;  // of sums, by input of the first axis
  for (int a = 1; a < layout.pooled(); ++a) step_bytes *= axis_of(layout, a).in;
  const Axis& axis = axis_of(layout, 0);
  index_t inputs = std::max({kBandBytes / std::max<index_t>(1, step_bytes), kHalo * axis.extent(), index_t{1}});
  if (threads != 1 && job.groups < 8) inputs = std::min(inputs, std::max(axis.extent(), ceil_div(axis.in, 8)));
  job.band = {0, std::min(inputs, axis.in)};
  job.bands = ceil_div(axis.in, job.band.size());
  job.shares = job.bands * (lanes ? ceil_div(job.side.n, job.width) : 1);
}

template <class T>
bool scatter(ScatterJob job, int threads) {
  set_parts(job, static_cast<index_t>(sizeof(accumulator_t<T>)), threads);
  set_checked(job);
  job.runs = are_runs(job.layout);
  index_t bytes = job.width * size_bytes(job.problem.dtype) * job.band.size();
  for (int a = 1; a < job.layout.pooled(); ++a) bytes *= axis_of(job.layout, a).in;
  const auto all = [&](const auto& each) {
    std::atomic<bool> good{true};
    parallel_for(job.groups * job.bands, bytes, threads, [&](index_t begin, index_t end) {
      Kept<CodeCheck> check;
      Arena arena;
      CodeScatterer<T> scatterer(job, *check, arena);
      for (index_t i = begin; i < end; ++i) {
        if (!each(scatterer, i / job.bands, i % job.bands)) good.store(false, std::memory_order_relaxed);
      }
    });
    return good.load();
  };
  if (job.shares > 1 && !all([](auto& s, index_t group, index_t band) { return s.check(group, band); })) return false;
  return all([](auto& s, index_t group, index_t band) { return s.run(group, band); });
}

}  // namespace

bool scatters_codes(const RowLayout& layout) { return layout.lanes.n == 1 || layout.lanes.pitch[kCode] == 1; }

bool scatter_codes(const Problem& problem, const RowLayout& layout, const void* dy, const std::uint8_t* code, void* dx,
                   int threads) {
  const ScatterJob job{.problem = problem,
                       .layout = layout,
                       .dy = static_cast<const std::byte*>(dy),
                       .code = code,
                       .dx = static_cast<std::byte*>(dx)};
  return visit(problem.dtype, [&]<class T>() { return scatter<T>(job, threads); });
}

}  // namespace oriel::cpu
