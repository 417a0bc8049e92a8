#include "cpu/long/axes.h"

#include <algorithm>

#include "cpu/exact/mend.h"
#include "cpu/long/axes_folder.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/recipe.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kShortKernel = 64;  // of windows that RowFolder folds tap by tap, whatever they share
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The boxes that a whole is cut into.
class Boxes {
 public:
  Boxes(const FoldJob& job, const RowReduction& how, const OutputBox& whole)
      : axes_(job.layout.pooled()), whole_(whole), size_(axes_box_size(job, how, whole)) {
    for (int a = 0; a < axes_; ++a) count_ *= parts(whole.outputs[at(a)], size_.outputs[at(a)]);
    count_ *= parts(whole.lanes, size_.lanes);
    bytes_ = job.plain.in_bytes * size_.lanes.size();
    for (int a = 0; a < axes_; ++a) {
      bytes_ *= std::max<index_t>(1, job.layout.axis[at(a)].axis.needs(size_.outputs[at(a)]).size());
    }
  }

  index_t count() const { return count_; }
  index_t bytes() const { return bytes_; }  // that one reads, about
  OutputBox box(index_t number) const {
    OutputBox box;
    box.lanes = part(whole_.lanes, size_.lanes, number);
    for (int a = axes_ - 1; a >= 0; --a) box.outputs[at(a)] = part(whole_.outputs[at(a)], size_.outputs[at(a)], number);
    return box;
  }

 private:
  static index_t parts(Range whole, Range size) { return size.empty() ? 0 : ceil_div(whole.size(), size.size()); }
  static Range part(Range whole, Range size, index_t& number) {
    const index_t count = parts(whole, size), begin = whole.begin + number % count * size.size();
    number /= count;
    return {begin, std::min(whole.end, begin + size.size())};
  }

  int axes_;
  OutputBox whole_, size_;
  index_t count_ = 1;
  index_t bytes_ = 0;
};

// A box of values alone, in the exact way: as numbers if there are few NaN, whose windows are written then.
void fold_box_exactly(const FoldJob& job, index_t plane, const OutputBox& box, Arena& arena) {
  const bool omits = is_floating_extremum(*job.problem) && job.problem->pool.nan == NanPolicy::omit;
  Mender mender(job, plane, box);
  const bool few = mends(job) && mender.find_nan();
  const Nan nan = omits || few ? Nan::absent : Nan::possible;
  const RowReduction how = exact_recipe(*job.problem, nan);
  AxesFolder(job, how, nan, arena).fold(plane, box);
  if (few) mender.write_nan();
}

}  // namespace

bool axes_pay(const FoldJob& job) {
  for (int a = 0; a < job.layout.pooled(); ++a) {
    const Axis& axis = job.layout.axis[at(a)].axis;
    if (a != job.layout.row_axis && axis.kernel > kShortKernel && slides(axis)) return true;
  }
  return false;
}

bool takes_axes_exactly(const FoldJob& job) {
  if (job.problem == nullptr || job.index != nullptr) return false;
  const bool lanes = job.layout.pooled() == 1 && job.layout.row_axis < 0;
  const bool looked_through = lanes && job.layout.axis[0].axis.kernel > kShortKernel;
  return axes_pay(job) || (looked_through && is_floating_extremum(*job.problem));
}

void run_axes(const FoldJob& job, int threads) {
  const RowLayout& layout = job.layout;
  OutputBox whole;
  whole.lanes = {0, layout.lanes.n};
  for (int a = 0; a < layout.pooled(); ++a) whole.outputs[at(a)] = {0, layout.axis[at(a)].axis.out};
  const Boxes boxes(job, job.plain, whole);
  parallel_for(layout.plane_count() * boxes.count(), boxes.bytes(), threads, [&](index_t begin, index_t end) {
    Arena arena;
    AxesFolder plain(job, job.plain, arena);
    for (index_t i = begin; i < end; ++i) {
      const OutputBox box = boxes.box(i % boxes.count());
      if (plain.fold(i / boxes.count(), box)) continue;
      fold_box_exactly(job, i / boxes.count(), box, arena);
    }
  });
}

void fold_axes_exactly(const FoldJob& job, index_t plane, Range rows, Range along, Range lanes) {
  const RowLayout& layout = job.layout;
  Arena arena;
  const RowReduction how = exact_recipe(*job.problem, Nan::possible);
  each_box(layout, rows, along, lanes, [&](const OutputBox& whole) {
    const Boxes boxes(job, how, whole);
    for (index_t b = 0; b < boxes.count(); ++b) fold_box_exactly(job, plane, boxes.box(b), arena);
    return true;
  });
}

}  // namespace oriel::cpu
