#include "cpu/rewrite/recomputed_gradient.h"

#include <algorithm>

#include "cpu/argmax/register_kernels.h"
#include "cpu/plan/engine.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/index_types.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr index_t kPartBytes = index_t{256} << 10;  // of x, dx and what is between: a part of the second cache

// Planes one behind the other, cut into parts: along the axes outside the pooled ones in memory, a run of the innermost
// of those.
class Parts {
 public:
  Parts(const Problem& problem, const Extents& order, int threads) : shape_(problem.shape) {
    const auto pooled = problem.axes.begin() + problem.pooled;
    for (index_t d : order) {
      if (std::find(problem.axes.begin(), pooled, static_cast<int>(d)) != pooled) break;
      axes_.push_back(d);
    }
    if (axes_.empty()) return;
    index_t all = 1;
    for (index_t d : axes_) all *= shape_[static_cast<int>(d)];
    const index_t n = shape_[static_cast<int>(axes_.back())];
    bytes_ = 2 * (element_count(shape_) + element_count(problem.output_shape)) / all * size_bytes(problem.dtype);
    run_ = std::clamp<index_t>(kPartBytes / std::max<index_t>(1, bytes_), 1, n);
    if (threads != 1 && all / run_ < 8) run_ = std::max<index_t>(1, run_ / 4);
    runs_ = ceil_div(n, run_);
    count_ = all / n * runs_;
    bytes_ *= run_;
  }

  index_t count() const { return count_; }
  index_t bytes() const { return bytes_; }  // of a part
  /// The first place of a part.
  Extents place(index_t part) const {
    Extents place = Extents::filled(shape_.size(), 0);
    index_t rest = part / runs_;
    for (int a = axes_.size() - 2; a >= 0; --a) {
      const int d = static_cast<int>(axes_[a]);
      place[d] = rest % shape_[d];
      rest /= shape_[d];
    }
    if (!axes_.empty()) place[static_cast<int>(axes_.back())] = part % runs_ * run_;
    return place;
  }
  /// The extents of a part of a tensor.
  Extents extents(const Extents& of, const Extents& place) const {
    Extents part = of;
    for (int a = 0; a < axes_.size(); ++a) {
      const int d = static_cast<int>(axes_[a]);
      part[d] = a + 1 == axes_.size() ? std::min(run_, of[d] - place[d]) : 1;
    }
    return part;
  }

 private:
  const Extents& shape_;
  Extents axes_;  // from the outermost on
  index_t run_ = 1, runs_ = 1, count_ = 1;
  index_t bytes_ = 0;
};

template <class View>
View part_of(const View& whole, const Extents& at, const Extents& extents) {
  View part = whole;
  index_t offset = 0;
  for (int d = 0; d < at.size(); ++d) offset += at[d] * whole.pitch[d];
  using Byte = std::conditional_t<std::is_same_v<View, Tensor>, std::byte, const std::byte>;
  part.data = static_cast<Byte*>(whole.data) + offset * size_bytes(whole.dtype);
  part.shape = extents;
  return part;
}

// Pairs along rows are found and written in one go in two thirds of the time (8x256x56x56), but where codes are
// followed past the caches, to whole lines.
bool pairs_are_faster(const Problem& problem, const Tensor& dx, int innermost) {
  if (problem.dtype != Dtype::f32 && problem.dtype != Dtype::f64) return false;
  const bool lines = reinterpret_cast<std::uintptr_t>(dx.data) % kLineBytes == 0 &&
                     dx.shape[innermost] * size_bytes(problem.dtype) % kLineBytes == 0;
  return !lines && problem.axis[static_cast<std::size_t>(problem.pooled - 1)].kernel == 2;
}

// Overlapping windows of 4 or 5 taps along rows of f32: two thirds of the time, by AVX2 three quarters (56x56 5x5
// s1: 5.7 ms to 3.8), but no less where a step of 2 leaves rows of few outputs (28x28 4x4 s2: 70 us to 96).
bool longer_pays(const Problem& problem, const Tensor& dx, int innermost) {
  constexpr index_t kFewest = index_t{1} << 14, kFewestAlong = 48;
  const bool rows = problem.axes[problem.pooled - 1] == innermost;
  if (problem.pooled != 2 || problem.dtype != Dtype::f32 || element_count(dx.shape) < kFewest) return false;
  if (code_table().kernel(problem.pool.op, problem.dtype).most_along < 5) return false;
  for (int a = 0; a < 2; ++a) {
    const Axis& axis = problem.axis[static_cast<std::size_t>(a)];
    if (axis.kernel < 4 || axis.kernel > 5 || axis.dilation != 1 || axis.adaptive) return false;
    if (axis.stride > 1 && (!rows || axis.stride > 2 || axis.in < kFewestAlong)) return false;
  }
  return true;
}

// Whether the elements of a tensor are a run of memory with its axes in that order.
bool is_run(const ConstTensor& t, const Extents& order) { return t.pitch == dense_pitch(t.shape, order); }

}  // namespace

bool recomputing_pays_first(const Gradient& gradient) {
  const Problem& problem = gradient.problem;
  const Tensor& dx = gradient.dx;
  constexpr index_t kFewest = index_t{1} << 20, kFewestApart = index_t{4} << 20;  // elements of dx
  if (problem.pooled < 2 || problem.pooled > 3 || !is_floating(problem.dtype)) return false;
  const Extents order = memory_order(dx.pitch);
  if (!is_run(*gradient.x, order) || !is_run(dx, order)) return false;
  const int innermost = static_cast<int>(order.back());
  if (longer_pays(problem, dx, innermost)) return true;
  if (!code_table().kernel(problem.pool.op, problem.dtype).quick) return false;
  bool apart = true, dwindling = true;
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[static_cast<std::size_t>(a)];
    if (axis.kernel < 2 || axis.kernel > 3 || axis.dilation != 1) return false;
    apart &= axis.stride >= axis.kernel;
    dwindling &= axis.stride >= 2 || axis.kernel == 3;
  }
  if (!dwindling) return false;
  const auto pooled = problem.axes.begin() + problem.pooled;
  if (apart && std::find(problem.axes.begin(), pooled, innermost) == pooled) return false;
  if (apart && pairs_are_faster(problem, dx, innermost)) return false;
  const index_t fewest = apart && problem.dtype == Dtype::f32 ? kFewestApart : kFewest;
  return element_count(dx.shape) >= fewest;
}

bool can_recompute(const Gradient& gradient) {
  const Problem& problem = gradient.problem;
  const Op op = problem.pool.op;
  return (op == Op::max || op == Op::min) && problem.taps() <= kMostByteCodes &&
         std::is_sorted(problem.axes.begin(), problem.axes.begin() + problem.pooled) &&
         element_count(gradient.dy.shape) != 0;
}

void run_recomputed(const Gradient& gradient, int threads) {
  const Problem& problem = gradient.problem;
  const Tensor& dx = gradient.dx;
  const Extents order = memory_order(dx.pitch);  // channels that lie side by side in dx do so in codes
  const Parts parts(problem, order, threads);
  parallel_for(parts.count(), parts.bytes(), threads, [&](index_t begin, index_t end) {
    Arena arena;
    for (index_t i = begin; i < end; ++i) {
      const Extents at = parts.place(i);
      Problem part = problem;
      part.shape = parts.extents(problem.shape, at);
      part.output_shape = parts.extents(problem.output_shape, at);
      const index_t outputs = element_count(part.output_shape);
      const Extents pitch = dense_pitch(part.output_shape, order);
      arena.reset();
      const Tensor y(arena.take(outputs * size_bytes(problem.dtype)), problem.dtype, part.output_shape, pitch);
      const Tensor codes(arena.take(outputs), Dtype::u8, part.output_shape, pitch);
      const int inside = parts.count() == 1 ? threads : 1;
      run(part, part_of(*gradient.x, at, part.shape), y, &codes, IndexSpace::window, inside);
      const ConstTensor index = codes;
      run_gradient({.problem = part,
                    .index = &index,
                    .dy = part_of(gradient.dy, at, part.output_shape),
                    .dx = part_of(dx, at, part.shape)},
                   inside);
    }
  });
}

}  // namespace oriel::cpu
