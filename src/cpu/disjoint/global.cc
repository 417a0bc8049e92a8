#include "cpu/disjoint/global.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/disjoint/global_kernels.h"
#include "cpu/plan/counts.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr index_t kMostColumns = 4096;  // whose sums stay in the first cache
constexpr index_t kPlanes = 512;        // lowered together
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool covers_all(const Axis& axis) {
  return axis.out == 1 && axis.full() == Range{0, 1} && axis.kernel == axis.in && axis.dilation == 1;
}

GlobalPlane plane_of(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  GlobalPlane plane;
  plane.far = element_count(job.problem->shape) * job.plain.in_bytes >= far_bytes;
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

// Lowers the results of planes, all of which have the same taps.
class Results {
 public:
  explicit Results(const FoldJob& job) : how_(job.plain), y_(static_cast<std::byte*>(job.y)) {
    taps_.divisor = taps_.taps = 1;
    for (const PooledAxis& a : job.layout.axis) {
      taps_.divisor *= a.axis.divisor(0, how_.count_include_pad);
      taps_.taps *= a.axis.width(0);
    }
  }

  std::byte* of(index_t plane) const { return y_ + plane * how_.out_bytes; }
  void lower(const std::byte* results, index_t n, index_t plane) {
    taps_.end = n;
    how_.lower({results, nullptr, 0}, n, 1, params_of(how_, &taps_, 1), of(plane), 1, 1);
  }

 private:
  const RowReduction& how_;
  std::byte* const y_;
  RowRun taps_;
};

// One thread's folds of planes.
class GlobalFolder {
 public:
  GlobalFolder(const FoldJob& job, const GlobalKernel& kernel, Arena& arena)
      : job_(job), kernel_(kernel), plane_(plane_of(job)), planes_(job.layout.plane_count()), y_(job) {
    const std::size_t bytes = static_cast<std::size_t>(job.plain.in_bytes);
    sums_ = arena.take(room_for_sums(plane_, bytes, kernel.vector) * index_t{sizeof(double)});
    results_ = arena.take(kPlanes * index_t{sizeof(double)});
    if (plane_.columns < kernel.vector) last_ = arena.take((plane_.elems + kernel.vector) * job.plain.in_bytes);
  }

  void fold(Range planes) {
    for (index_t p = planes.begin; p < planes.end; p += kPlanes) some({p, std::min(planes.end, p + kPlanes)});
  }

 private:
  void some(Range planes) {
    std::byte* out = kernel_.lowered ? y_.of(planes.begin) : results_;
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
    if (!kernel_.lowered) y_.lower(results_, planes.size(), planes.begin);
  }

  const FoldJob& job_;
  const GlobalKernel& kernel_;
  const GlobalPlane plane_;
  const index_t planes_;  // of the whole tensor
  Results y_;
  std::byte* sums_ = nullptr;  // of a plane's columns
  std::byte* results_ = nullptr;
  std::byte* last_ = nullptr;  // the last plane, where rows are shorter than what is read
};

// Planes that are fewer than threads have use for, each cut into parts that are folded by themselves.
class CutPlanes {
 public:
  CutPlanes(const FoldJob& job, const GlobalKernel& kernel, int threads)
      : job_(job), kernel_(kernel), threads_(threads), plane_(plane_of(job)), planes_(job.layout.plane_count()) {
    const index_t bytes = plane_.elems * job.plain.in_bytes, least = std::max<index_t>(1, far_bytes / 32);
    const index_t wanted = std::min(ceil_div(kPartsOfThread * threads, planes_), bytes / least);
    if (threads < 2 || wanted < 2) return;
    if (kernel.lowered) {
      parts_ = std::max(wanted, kernel.vector);  // whose results are a plane again
      step_ = plane_.elems / parts_;
      if (step_ < kernel.vector) parts_ = 0;
    } else if (plane_.levels > 0 && plane_.columns >= kernel.vector) {
      const index_t rows = plane_.count[at(plane_.levels - 1)];
      step_ = static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(rows / wanted)));
      if (step_ > 0) parts_ = rows / step_ + std::popcount(static_cast<std::uint64_t>(rows % step_));
    }
  }

  bool any() const { return parts_ > 1; }

  void fold() {
    Arena arena;
    if (kernel_.lowered) return fold_extrema(arena);
    fold_sums(arena);
  }

 private:
  static constexpr index_t kPartsOfThread = 4;

  const std::byte* x(index_t plane, index_t elems) const {
    return static_cast<const std::byte*>(job_.x) + (plane * plane_.elems + elems) * job_.plain.in_bytes;
  }

  void fold_extrema(Arena& arena) {
    std::byte* const results = arena.take(planes_ * parts_ * kernel_.result_bytes);
    const auto part = [&](index_t i, std::byte* out) {
      const index_t p = i / parts_, number = i % parts_;
      GlobalPlane piece;
      piece.columns = piece.elems = number + 1 < parts_ ? step_ : plane_.elems - number * step_;
      kernel_.fold(x(p, number * step_), piece, 1, nullptr, out);
    };
    parallel_for(planes_ * parts_, step_ * job_.plain.in_bytes, threads_, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) part(i, results + i * kernel_.result_bytes);
    });
    GlobalPlane of_parts;
    of_parts.columns = of_parts.elems = parts_;
    kernel_.fold(results, of_parts, planes_, nullptr, Results(job_).of(0));
  }

  // The rows of a part of a plane's sum: a power of two of them, the largest first.
  Range rows_of(index_t part) const {
    const index_t rows = plane_.count[at(plane_.levels - 1)], whole = rows / step_;
    if (part < whole) return {part * step_, (part + 1) * step_};
    Range some = {whole * step_, whole * step_};
    for (index_t left = rows - some.end; part >= whole; --part) {
      const auto n = static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(left)));
      some = {some.end, some.end + n};
      left -= n;
    }
    return some;
  }

  void fold_sums(Arena& arena) {
    const index_t row = plane_.columns * kernel_.result_bytes;
    std::byte* const sums = arena.take(planes_ * parts_ * row);
    const index_t bytes = plane_.elems / plane_.count[at(plane_.levels - 1)] * step_ * job_.plain.in_bytes;
    parallel_for(planes_ * parts_, bytes, threads_, [&](index_t begin, index_t end) {
      Arena scratch;
      std::byte* const some = scratch.take(
          room_for_sums(plane_, static_cast<std::size_t>(job_.plain.in_bytes), kernel_.vector) * kernel_.result_bytes);
      for (index_t i = begin; i < end; ++i) {
        const Range rows = rows_of(i % parts_);
        GlobalPlane part = plane_;
        part.count[at(plane_.levels - 1)] = rows.size();
        kernel_.sum_columns(x(i / parts_, rows.begin * plane_.columns), part, some);
        std::memcpy(sums + i * row, some, at(row));
      }
    });
    Results y(job_);
    const bool wide = kernel_.result_bytes == sizeof(double);
    const GlobalKernel along = global_table().global(Op::sum, wide ? Dtype::f64 : Dtype::f32);
    GlobalPlane joined;
    joined.columns = joined.elems = plane_.columns;
    std::byte* const room = arena.take(room_for_sums(joined, sizeof(double), kernel_.vector) * index_t{sizeof(double)});
    std::byte* const result = arena.take(index_t{sizeof(double)});
    for (index_t p = 0; p < planes_; ++p) {
      std::byte* const of_plane = sums + p * parts_ * row;
      if (wide)
        join(reinterpret_cast<double*>(of_plane));
      else
        join(reinterpret_cast<float*>(of_plane));
      along.fold(of_plane, joined, 1, room, result);
      y.lower(result, 1, p);
    }
  }

  // The tree of S8 over the parts of a plane, into the first of them.
  template <class A>
  void join(A* sums) const {
    const index_t n = plane_.columns, whole = plane_.count[at(plane_.levels - 1)] / step_;
    const auto add = [&](index_t to, index_t part) {
      for (index_t i = 0; i < n; ++i) sums[to * n + i] += sums[part * n + i];
    };
    index_t begin = 0;
    for (index_t left = whole; left > 0;) {
      const auto m = static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(left)));
      for (index_t by = 1; by < m; by *= 2) {
        for (index_t i = begin; i < begin + m; i += 2 * by) add(i, i + by);
      }
      if (begin > 0) add(0, begin);
      begin += m;
      left -= m;
    }
    for (; begin < parts_; ++begin) add(0, begin);
  }

  const FoldJob& job_;
  const GlobalKernel& kernel_;
  const int threads_;
  const GlobalPlane plane_;
  const index_t planes_;
  index_t parts_ = 0;  // of a plane
  index_t step_ = 0;   // elements, or of sums rows, of a part but the last ones
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
  if (kernel.lowered) return plane_of(job).elems >= kernel.vector;
  const GlobalPlane plane = plane_of(job);
  if (plane.count[0] > kMostGlobalRows || plane.count[1] > kMostGlobalRows) return false;
  return job.plain.lower != nullptr && plane.columns <= kMostColumns;
}

void run_global(const FoldJob& job, int threads) {
  const GlobalKernel kernel = global_table().global(job.problem->pool.op, job.problem->dtype);
  CutPlanes cut(job, kernel, threads > 0 ? threads : default_threads());
  if (cut.any()) return cut.fold();
  const index_t bytes = plane_of(job).elems * job.plain.in_bytes;
  parallel_for(job.layout.plane_count(), bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    GlobalFolder(job, kernel, arena).fold({begin, end});
  });
}

}  // namespace oriel::cpu
