#include "cpu/disjoint/global.h"

#include <cstring>

#include "cpu/disjoint/global_kernels.h"
#include "cpu/plan/counts.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kMostColumns = 4096;  // whose sums stay in the first cache
constexpr index_t kPlanes = 512;        // lowered together
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool covers_all(const Axis& axis) {
  return axis.out == 1 && axis.full() == Range{0, 1} && axis.kernel == axis.in && axis.dilation == 1;
}

GlobalPlane plane_of(const RowLayout& layout) {
  GlobalPlane plane;
  plane.levels = layout.pooled() - 1;
  for (int a = plane.levels; a >= 0; --a) {
    const index_t n = layout.axis[at(a)].axis.in;
    if (a == plane.levels) {
      plane.columns = n;
    } else {
      plane.count[at(a)] = n;
      plane.pitch[at(a)] = plane.elems;
    }
    plane.elems *= n;
  }
  return plane;
}

// One thread's folds of planes.
class GlobalFolder {
 public:
  GlobalFolder(const FoldJob& job, const GlobalKernel& kernel, Arena& arena)
      : job_(job), kernel_(kernel), plane_(plane_of(job.layout)), planes_(job.layout.plane_count()) {
    const std::size_t bytes = static_cast<std::size_t>(job.plain.in_bytes);
    sums_ = arena.take(room_for_sums(plane_, bytes, kernel.vector) * index_t{sizeof(double)});
    results_ = arena.take(kPlanes * index_t{sizeof(double)});
    if (plane_.columns < kernel.vector) last_ = arena.take((plane_.elems + kernel.vector) * job.plain.in_bytes);
    run_.divisor = run_.taps = 1;
    for (const PooledAxis& a : job.layout.axis) {
      run_.divisor *= a.axis.divisor(0, job.plain.count_include_pad);
      run_.taps *= a.axis.width(0);
    }
  }

  void fold(Range planes) {
    for (index_t p = planes.begin; p < planes.end; p += kPlanes) some({p, std::min(planes.end, p + kPlanes)});
  }

 private:
  void some(Range planes) {
    std::byte* y = static_cast<std::byte*>(job_.y) + planes.begin * job_.plain.out_bytes;
    std::byte* out = kernel_.lowered ? y : results_;
    const std::byte* x = static_cast<const std::byte*>(job_.x);
    const index_t pitch = plane_.elems * job_.plain.in_bytes;
    // What lies behind the tensor is not read.
    const index_t apart = last_ != nullptr && planes.end == planes_ ? 1 : 0;
    kernel_.fold(x + planes.begin * pitch, plane_, planes.size() - apart, sums_, out);
    if (apart == 1) {
      std::memcpy(last_, x + (planes_ - 1) * pitch, at(pitch));
      std::memset(last_ + pitch, 0, at(kernel_.vector * job_.plain.in_bytes));
      kernel_.fold(last_, plane_, 1, sums_, out + (planes.size() - 1) * kernel_.result_bytes);
    }
    if (!kernel_.lowered) lower(planes.size(), y);
  }

  void lower(index_t n, std::byte* y) {
    const RowReduction& how = job_.plain;
    run_.end = n;
    how.lower({results_, nullptr, 0}, n, 1, params_of(how, &run_, 1), y, 1, 1);
  }

  const FoldJob& job_;
  const GlobalKernel& kernel_;
  const GlobalPlane plane_;
  const index_t planes_;       // of the whole tensor
  RowRun run_;                 // the taps of every window
  std::byte* sums_ = nullptr;  // of a plane's columns
  std::byte* results_ = nullptr;
  std::byte* last_ = nullptr;  // the last plane, where rows are shorter than what is read
};

}  // namespace

bool can_global(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.lanes.n != 1 || layout.pooled() > 3) return false;
  const Pool& pool = job.problem->pool;
  if (pool.op == Op::lp || (pool.nan == NanPolicy::omit && is_floating(job.problem->dtype))) return false;
  if (layout.plane_count() == 0 || !layout.is_stack()) return false;
  for (const PooledAxis& a : layout.axis) {
    if (!covers_all(a.axis)) return false;
  }
  const GlobalKernel kernel = global_table().global(pool.op, job.problem->dtype);
  if (kernel.fold == nullptr) return false;
  if (kernel.lowered) return plane_of(layout).elems >= kernel.vector;
  const GlobalPlane plane = plane_of(layout);
  if (plane.count[0] > kMostGlobalRows || plane.count[1] > kMostGlobalRows) return false;
  return job.plain.lower != nullptr && plane.columns <= kMostColumns;
}

void run_global(const FoldJob& job, int threads) {
  const GlobalKernel kernel = global_table().global(job.problem->pool.op, job.problem->dtype);
  const index_t bytes = plane_of(job.layout).elems * job.plain.in_bytes;
  parallel_for(job.layout.plane_count(), bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    GlobalFolder(job, kernel, arena).fold({begin, end});
  });
}

}  // namespace oriel::cpu
