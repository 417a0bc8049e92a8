#include "cpu/long/search.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/exact/exact_kernels.h"
#include "cpu/long/axes.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/recipe.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/index_types.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kFewLanes = 16;       // so many fill vectors side by side
constexpr index_t kShortest = 64;       // elements of a run that is worth a search,
constexpr index_t kShortestExact = 24;  // and in place of a fold in the exact way
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

using Coords = std::array<index_t, kMaxPooledAxes>;

Extremum kind_of(const Problem& problem) {
  if (problem.pool.op == Op::lp) return Extremum::magnitude;
  return problem.pool.op == Op::min ? Extremum::min : Extremum::max;
}

bool covers(const Axis& axis) { return axis.out == 1 && axis.dilation == 1 && axis.taps(0) == Range{0, axis.in}; }

// Elements that a window's first run has, about.
index_t run_length(const RowLayout& layout) {
  index_t n = layout.axis[at(layout.pooled() - 1)].axis.kernel;
  for (int a = layout.pooled() - 1; a > 0; --a) {
    const PooledAxis &inner = layout.axis[at(a)], &outer = layout.axis[at(a - 1)];
    if (!covers(inner.axis) || outer.axis.dilation != 1 || outer.pitch[kX] != inner.axis.in * inner.pitch[kX]) break;
    n *= outer.axis.kernel;
  }
  return n;
}

// One thread's part, of elements of type T.
template <class T>
class Seeker {
 public:
  Seeker(const FoldJob& job, Arena& arena)
      : job_(job),
        layout_(job.layout),
        last_(job.layout.pooled() - 1),
        omit_(job.problem->pool.nan == NanPolicy::omit),
        kind_(kind_of(*job.problem)),
        seek_(exact_table().seek(kind_, job.problem->dtype)) {
    index_t radix = 1;
    for (int a = last_; a >= 0; --a) {
      radix_[at(a)] = radix;
      radix *= axis(a).kernel;
    }
    if (pitch() != 1) gathered_ = arena.take_array<T>(radix);
  }

  void set_plane(index_t plane) { plane_ = layout_.plane_offsets(plane); }

  void fold(index_t lane, const Coords& o) {
    find(lane, o);
    Pitches to = plane_;
    for (std::size_t p = 0; p < to.size(); ++p) to[p] += lane * layout_.lanes.pitch[p];
    for (int a = 0; a <= last_; ++a) {
      for (Operand operand : {kY, kIndex}) to[operand] += o[at(a)] * layout_.axis[at(a)].pitch[operand];
    }
    static_cast<T*>(job_.y)[to[kY]] = found_ ? best_ : absent();
    if (job_.index == nullptr) return;
    visit_index(job_.index_dtype, [&]<class Index>(Index*) {
      static_cast<Index*>(job_.index)[to[kIndex]] = found_ ? static_cast<Index>(index(o, to[kFlat])) : kNoTap<Index>;
    });
  }

 private:
  const Axis& axis(int a) const { return layout_.axis[at(a)].axis; }
  index_t pitch() const { return layout_.axis[at(last_)].pitch[kX] * axis(last_).dilation; }

  // What a window without a tap gives (S6).
  T absent() const {
    if (kind_ == Extremum::magnitude) return T{};
    return kind_ == Extremum::min ? highest_value<T>() : lowest_value<T>();
  }

  static bool is_nan(T v) {
    if constexpr (is_floating_v<T>) return std::isnan(static_cast<accumulator_t<T>>(v));
    return false;
  }

  // Whether what comes later takes the place of the best so far (S3, S4).
  bool wins(T later) const {
    if (is_nan(later)) return true;
    if (is_nan(best_)) return false;
    const auto better = [this](auto a, auto b) { return kind_ == Extremum::min ? a < b : a > b; };
    if constexpr (is_floating_v<T>) {
      return better(static_cast<accumulator_t<T>>(later), static_cast<accumulator_t<T>>(best_));
    } else if constexpr (std::is_integral_v<T>) {
      return better(later, best_);
    }
    return false;  // there is no search of booleans
  }

  // Looks through the window of an output: run by run, of the axes from inner_ on.
  void find(index_t lane, const Coords& o) {
    found_ = false;
    index_t n = 1, begin = plane_[kX] + lane * layout_.lanes.pitch[kX];
    for (int a = 0; a <= last_; ++a) {
      taps_[at(a)] = axis(a).taps(o[at(a)]);
      if (taps_[at(a)].empty()) return;
      begin += axis(a).at(o[at(a)], taps_[at(a)].begin) * layout_.axis[at(a)].pitch[kX];
    }
    n = taps_[at(last_)].size();
    for (inner_ = last_; inner_ > 0 && goes_on(inner_); --inner_) n *= taps_[at(inner_ - 1)].size();
    Coords c{};  // taps from the first one
    for (int a = 0; a >= 0;) {
      index_t from = begin;
      for (int i = 0; i < inner_; ++i) from += c[at(i)] * axis(i).dilation * layout_.axis[at(i)].pitch[kX];
      look(static_cast<const T*>(job_.x) + from, n, c);
      for (a = inner_ - 1; a >= 0 && ++c[at(a)] == taps_[at(a)].size(); --a) c[at(a)] = 0;
    }
  }

  // Whether the taps of axis a - 1 follow each other where those of axis a end.
  bool goes_on(int a) const {
    return axis(a).dilation == 1 && taps_[at(a)].size() == axis(a).in && axis(a - 1).dilation == 1 &&
           layout_.axis[at(a - 1)].pitch[kX] == axis(a).in * layout_.axis[at(a)].pitch[kX];
  }

  void look(const T* x, index_t n, const Coords& c) {
    if (const index_t step = pitch(); step != 1) {
      for (index_t i = 0; i < n; ++i) gathered_[i] = x[i * step];
      x = gathered_;
    }
    T value{};
    const index_t place = seek_(x, n, omit_, job_.index == nullptr ? &value : nullptr);
    if (place == kNowhere) return;
    if (place != kWritten) value = magnitude(x[place]);
    if (found_ && !wins(value)) return;
    found_ = true;
    best_ = value;
    outer_ = c;
    place_ = place;
  }

  T magnitude(T v) const {
    if constexpr (is_floating_v<T>) {
      if (kind_ == Extremum::magnitude) return static_cast<T>(std::fabs(static_cast<accumulator_t<T>>(v)));
    }
    return v;
  }

  // What the place of the best is called (S10); `origin` is that of the plane's first element.
  index_t index(const Coords& o, index_t origin) const {
    const bool window = job_.space == IndexSpace::window;
    index_t sum = window ? 0 : origin, rest = place_;
    for (int a = last_; a >= 0; --a) {
      const index_t size = taps_[at(a)].size();
      const index_t tap = taps_[at(a)].begin + (a > inner_ ? rest % size : a == inner_ ? rest : outer_[at(a)]);
      rest /= size;
      sum += window ? tap * radix_[at(a)] : axis(a).at(o[at(a)], tap) * layout_.axis[at(a)].pitch[kFlat];
    }
    return sum;
  }

  const FoldJob& job_;
  const RowLayout& layout_;
  const int last_;
  const bool omit_;
  const Extremum kind_;
  const SeekExtremum seek_;
  Coords radix_{};
  T* gathered_ = nullptr;
  Pitches plane_{};
  std::array<Range, kMaxPooledAxes> taps_{};  // of the window that is looked through
  int inner_ = 0;
  bool found_ = false;
  T best_{};
  Coords outer_{};     // the run of the best one,
  index_t place_ = 0;  // and where in it
};

index_t outputs_of(const RowLayout& layout) {
  index_t n = 1;
  for (const PooledAxis& a : layout.axis) n *= a.axis.out;
  return n;
}

Coords output(const RowLayout& layout, index_t number) {
  Coords o{};
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    o[at(a)] = number % layout.axis[at(a)].axis.out;
    number /= layout.axis[at(a)].axis.out;
  }
  return o;
}

// Whether windows can be looked through, in no more than n log k steps.
bool can_look_through(const FoldJob& job) {
  if (job.problem == nullptr || !finds_extrema(*job.problem)) return false;
  if (exact_table().seek(kind_of(*job.problem), job.problem->dtype) == nullptr) return false;
  return std::none_of(job.layout.axis.begin(), job.layout.axis.end(),
                      [](const PooledAxis& a) { return a.axis.spacing != 1 || slides(a.axis); });
}

// Whether they have runs of so many elements.
bool has_long_runs(const FoldJob& job, index_t shortest) {
  return job.layout.lanes.n < kFewLanes && run_length(job.layout) >= shortest;
}

}  // namespace

bool takes_seek_exactly(const FoldJob& job) {
  return job.index == nullptr && can_look_through(job) && has_long_runs(job, kShortestExact);
}

bool can_seek(const FoldJob& job) { return can_look_through(job); }

bool seeking_pays(const FoldJob& job) {
  const Pool& pool = job.problem->pool;
  const bool omits = pool.nan == NanPolicy::omit && is_floating(job.problem->dtype);
  return (job.index != nullptr || omits || pool.op == Op::lp) && has_long_runs(job, kShortest);
}

void run_seek(const FoldJob& job, int threads) {
  const RowLayout& layout = job.layout;
  const index_t outputs = outputs_of(layout), lanes = layout.lanes.n;
  const index_t bytes = job.problem->taps() * size_bytes(job.problem->dtype);
  parallel_for(layout.plane_count() * outputs * lanes, bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    visit(job.problem->dtype, [&]<class T>() {
      Seeker<T> seeker(job, arena);
      for (index_t i = begin; i < end; ++i) {
        const index_t plane = i / (outputs * lanes);
        if (i == begin || i % (outputs * lanes) == 0) seeker.set_plane(plane);
        seeker.fold(i % lanes, output(layout, i / lanes % outputs));
      }
    });
  });
}

void seek_rows(const FoldJob& job, index_t plane, Range rows, Range along, Range lanes) {
  Arena arena;
  const RowLayout& layout = job.layout;
  visit(job.problem->dtype, [&]<class T>() {
    Seeker<T> seeker(job, arena);
    seeker.set_plane(plane);
    for (index_t r = rows.begin; r < rows.end; ++r) {
      Coords o{};
      index_t rest = r;
      for (int a = layout.pooled() - 1; a >= 0; --a) {
        if (a == layout.row_axis) continue;
        o[at(a)] = rest % layout.axis[at(a)].axis.out;
        rest /= layout.axis[at(a)].axis.out;
      }
      for (index_t p = along.begin; p < along.end; ++p) {
        if (layout.row_axis >= 0) o[at(layout.row_axis)] = p;
        for (index_t l = lanes.begin; l < lanes.end; ++l) seeker.fold(l, o);
      }
    }
  });
}

}  // namespace oriel::cpu
