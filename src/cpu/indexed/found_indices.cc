#include "cpu/indexed/found_indices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "cpu/plan/engine.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/recipe.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/index_types.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kManyLanes = 16;  // which fill vectors by themselves
constexpr index_t kFewTaps = 12;    // a guess at where to stop looking costs as much as so many
constexpr index_t kVectorTaps = 8;
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

using Coords = std::array<index_t, kMaxPooledAxes>;

// The taps of a window along one axis that there are.
struct Span {
  index_t input, tap, count;  // the first one's input and number
};

// A row of taps of a window, along the last axis.
struct TapRow {
  index_t x, name;  // its offset in x, and what it adds to the name of a place
};

// One thread's part, of elements of type T.
template <class T, class Index>
class Finder {
 public:
  Finder(const FoldJob& job, Arena& arena)
      : job_(job),
        layout_(job.layout),
        last_(job.layout.pooled() - 1),
        along_(job.layout.axis[at(last_)]),
        named_by_taps_(job.space == IndexSpace::window) {
    index_t radix = 1;
    for (int a = last_; a >= 0; --a) {
      const Axis& axis = layout_.axis[at(a)].axis;
      radix_[at(a)] = radix;
      radix *= axis.kernel;
      Span* spans = arena.take_array<Span>(axis.out);
      for (index_t o = 0; o < axis.out; ++o) {
        const Range taps = axis.taps(o);
        spans[o] = {taps.empty() ? 0 : axis.at(o, taps.begin), taps.begin, taps.size()};
      }
      spans_[at(a)] = spans;
    }
    tap_rows_ = arena.take_array<TapRow>(radix / along_.axis.kernel);
  }

  // The row of outputs number `row` of a plane.
  void find(index_t plane, index_t row) {
    Pitches to = layout_.plane_offsets(plane);
    Coords o{};
    for (int a = last_ - 1; a >= 0; --a) {
      const PooledAxis& axis = layout_.axis[at(a)];
      o[at(a)] = row % axis.axis.out;
      row /= axis.axis.out;
      for (Operand operand : {kY, kIndex}) to[operand] += o[at(a)] * axis.pitch[operand];
    }
    list_tap_rows(o);
    for (index_t lane = 0; lane < layout_.lanes.n; ++lane) {
      const T* y = static_cast<const T*>(job_.y) + to[kY];
      Index* index = static_cast<Index*>(job_.index) + to[kIndex];
      const T* x = static_cast<const T*>(job_.x) + to[kX];
      const index_t origin = named_by_taps_ ? 0 : to[kFlat];
      for (index_t p = 0; p < along_.axis.out; ++p) {
        index[p * along_.pitch[kIndex]] = place(y[p * along_.pitch[kY]], x, spans_[at(last_)][p], origin);
      }
      for (std::size_t p = 0; p < to.size(); ++p) to[p] += layout_.lanes.pitch[p];
    }
  }

 private:
  using Compared = std::conditional_t<is_floating_v<T>, accumulator_t<T>, T>;

  // Of the windows of a row of outputs.
  void list_tap_rows(const Coords& o) {
    count_ = 0;
    Coords c{};
    for (int a = 0; a < last_; ++a) {
      if (spans_[at(a)][o[at(a)]].count == 0) return;
    }
    for (int a = 0; a >= 0;) {
      TapRow row{};
      for (int i = 0; i < last_; ++i) {
        const PooledAxis& axis = layout_.axis[at(i)];
        const Span& span = spans_[at(i)][o[at(i)]];
        const index_t input = span.input + c[at(i)] * axis.axis.dilation;
        row.x += input * axis.pitch[kX];
        row.name += named_by_taps_ ? (span.tap + c[at(i)]) * radix_[at(i)] : input * axis.pitch[kFlat];
      }
      tap_rows_[count_++] = row;
      for (a = last_ - 1; a >= 0 && ++c[at(a)] == spans_[at(a)][o[at(a)]].count; --a) c[at(a)] = 0;
    }
  }

  // What the place of the result `y` is called (S10).
  Index place(T y, const T* x, const Span& span, index_t origin) const {
    const auto best = static_cast<Compared>(y);
    const index_t step = along_.axis.dilation * along_.pitch[kX];
    const T* const first = x + span.input * along_.pitch[kX];
    if constexpr (is_floating_v<T>) {
      if (std::isnan(best)) {
        for (index_t r = count_ - 1; r >= 0; --r) {
          for (index_t t = span.count - 1; t >= 0; --t) {
            if (std::isnan(static_cast<Compared>(first[tap_rows_[r].x + t * step]))) return name(r, t, span, origin);
          }
        }
      }
    }
    if (count_ * span.count <= kFewTaps) {
      index_t tap = -1;
      for (index_t r = count_ - 1; r >= 0; --r) {
        const T* row = first + tap_rows_[r].x;
        for (index_t t = span.count - 1; t >= 0; --t) {
          tap = static_cast<Compared>(row[t * step]) == best ? r * span.count + t : tap;
        }
      }
      return tap < 0 ? kNoTap<Index> : name(tap / span.count, tap % span.count, span, origin);
    }
    for (index_t r = 0; r < count_; ++r) {
      const T* row = first + tap_rows_[r].x;
      if (step == 1 && span.count >= kVectorTaps && !has(row, span.count, best)) continue;
      for (index_t t = 0; t < span.count; ++t) {
        if (static_cast<Compared>(row[t * step]) == best) return name(r, t, span, origin);
      }
    }
    return kNoTap<Index>;
  }

  // A loop without an end in between, for vectors.
  static bool has(const T* row, index_t count, Compared best) {
    unsigned found = 0;
    for (index_t t = 0; t < count; ++t) found |= static_cast<unsigned>(static_cast<Compared>(row[t]) == best);
    return found != 0;
  }

  Index name(index_t row, index_t tap, const Span& span, index_t origin) const {
    const index_t along =
        named_by_taps_ ? span.tap + tap : (span.input + tap * along_.axis.dilation) * along_.pitch[kFlat];
    return static_cast<Index>(origin + tap_rows_[row].name + along);
  }

  const FoldJob& job_;
  const RowLayout& layout_;
  const int last_;
  const PooledAxis along_;
  const bool named_by_taps_;
  Coords radix_{};
  std::array<const Span*, kMaxPooledAxes> spans_{};
  TapRow* tap_rows_;
  index_t count_ = 0;
};

}  // namespace

bool can_find_indices(const FoldJob& job) {
  if (job.problem == nullptr || job.index == nullptr) return false;
  const Pool& pool = job.problem->pool;
  if (pool.op != Op::max && pool.op != Op::min) return false;
  if (pool.nan == NanPolicy::omit && is_floating(job.problem->dtype)) return false;
  return job.layout.pooled() > 0 && std::none_of(job.layout.axis.begin(), job.layout.axis.end(),
                                                 [](const PooledAxis& a) { return a.axis.spacing != 1; });
}

bool finding_indices_pays(const FoldJob& job) {
  const auto ends = [](const PooledAxis& a) { return a.axis.adaptive || shares_no_input(a.axis); };
  return job.layout.lanes.n < kManyLanes && std::all_of(job.layout.axis.begin(), job.layout.axis.end(), ends);
}

bool finding_indices_pays_first(const FoldJob& job) {
  constexpr index_t kLeastTaps = 9, kLeastTapsOf2 = 25, kLeastTapsOf4 = 49;
  const index_t bytes = size_bytes(job.problem->dtype), taps = job.problem->taps();
  return finding_indices_pays(job) && taps >= (bytes == 1 ? kLeastTaps : bytes == 2 ? kLeastTapsOf2 : kLeastTapsOf4);
}

bool finding_pays_in_gradient(const Gradient& gradient) {
  constexpr index_t kLeastTaps = 256;  // which no codes of one byte tell apart
  const Problem& problem = gradient.problem;
  const auto pooled = std::span(problem.axis).first(at(problem.pooled));
  return problem.taps() >= kLeastTaps && std::ranges::all_of(pooled, shares_no_input) &&
         gradient.layout().lanes.n < kManyLanes;
}

void run_found_indices(const FoldJob& job, int threads) {
  FoldJob values = job;
  values.plain = plain_recipe(*job.problem);
  values.index = nullptr;
  run_fold(values, threads);
  index_t rows = 1, elements = job.layout.lanes.n;
  for (int a = 0; a < job.layout.pooled(); ++a) {
    const Axis& axis = job.layout.axis[at(a)].axis;
    if (a + 1 < job.layout.pooled()) rows *= axis.out;
    elements *= axis.in;
  }
  const index_t bytes = elements / rows * size_bytes(job.problem->dtype);
  parallel_for(job.layout.plane_count() * rows, bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    visit(job.problem->dtype, [&]<class T>() {
      visit_index(job.index_dtype, [&]<class Index>(Index*) {
        Finder<T, Index> finder(job, arena);
        for (index_t i = begin; i < end; ++i) finder.find(i / rows, i % rows);
      });
    });
  });
}

}  // namespace oriel::cpu
