#include "cpu/masked/masked.h"

#include <algorithm>
#include <cstring>

#include "cpu/element/sum_width.h"
#include "cpu/masked/masked_kernels.h"
#include "cpu/plan/windows.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/per_target.h"

namespace oriel::cpu {

const StackTable& stack_kernels() {
  static const PerTarget<StackTable> tables{&fill_stack_extremum, &fill_stack_sum};
  return tables.active();
}
namespace {

constexpr index_t kFoldedBytes = 8 * 1024;      // of planes between the two folds: they stay in the first cache
constexpr index_t kMostPlaneBytes = 32 * 1024;  // folded: masks are made for every vector of a plane
constexpr index_t kLeastPlanes = 4;             // masks take a microsecond to make
constexpr index_t kMostRowVectors = 2;          // longer rows fill vectors by themselves
constexpr index_t round_up(index_t n, index_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

StackKernel kernel_of(const Problem& problem) {
  const StackTable& table = stack_kernels();
  const Op op = problem.pool.op;
  if (op == Op::max || op == Op::min) return table.extremum(op, problem.dtype);
  if (op == Op::lp || !(is_floating(problem.dtype) || sums_narrowly(problem))) return {};
  return table.sum(problem.dtype);
}

// How the two axes of a plane lie.
struct StackShape {
  explicit StackShape(const RowLayout& layout)
      : across(layout.axis[0].axis),
        along(layout.axis[1].axis),
        lanes(layout.lanes.n),
        in_elems(along.in * lanes),
        out_elems(across.out * along.out * lanes),
        x_pitch(across.in * in_elems),
        row_pitch(along.stride == 1 ? in_elems : 2 * along.out),
        flat(across.stride == 1 && across.out == across.in && across.at(0, across.kernel / 2) == 0 &&
             row_pitch == in_elems) {}

  const Axis& across;
  const Axis& along;
  index_t lanes, in_elems, out_elems, x_pitch, row_pitch;
  bool flat;  // outputs stand where inputs do, and windows around them
};

bool is_uniform(const Axis& axis) { return !axis.adaptive && axis.spacing == 1 && axis.kernel <= kMaxFold; }

// Outputs of the row axis stand where its inputs do, or where every other one does.
bool takes_along(const StackShape& s) {
  if (s.along.stride == 1) return s.along.out == s.along.in;
  return s.along.stride == 2 && s.along.dilation == 1 && s.lanes == 1 && s.row_pitch >= s.in_elems;
}

// One thread's folds of planes.
class StackFolder {
 public:
  StackFolder(const FoldJob& job, const StackKernel& kernel, Arena& arena);

  index_t batch() const { return batch_; }
  /// False when values were met that these kernels do not treat exactly.
  bool fold(Range planes);

 private:
  void list_taps(Arena& arena);
  template <class Valid>
  const void* make_masks(index_t elems, index_t taps, const Valid& valid, Arena& arena) const;
  void set_divisors(Arena& arena);
  template <class T>
  void fill_divisors(T* each) const;

  const FoldJob& job_;
  const StackKernel& kernel_;
  const StackShape shape_;
  const index_t planes_;  // of the whole tensor
  index_t batch_ = 1;
  index_t before_ = 0, after_ = 0;  // elements that are read before the first and after the last plane of a batch
  std::byte* copied_ = nullptr;     // a batch with room for them
  PlaneStack stack_;
};

StackFolder::StackFolder(const FoldJob& job, const StackKernel& kernel, Arena& arena)
    : job_(job), kernel_(kernel), shape_(job.layout), planes_(job.layout.plane_count()) {
  const Axis& along = shape_.along;
  stack_.infinity = kernel.infinity;
  stack_.x_pitch = shape_.x_pitch;
  stack_.out_elems = shape_.out_elems;
  stack_.flat = shape_.flat;
  stack_.rows = shape_.across.out;
  stack_.in_elems = shape_.in_elems;
  stack_.row_pitch = shape_.row_pitch;
  stack_.folded_pitch = round_up(stack_.rows * stack_.row_pitch, kernel.vector);
  stack_.along = static_cast<int>(along.kernel);
  stack_.begin = along.first * shape_.lanes;
  stack_.tap_pitch = along.dilation * shape_.lanes;
  stack_.stride = along.stride;
  list_taps(arena);
  const index_t row = along.out * shape_.lanes, lanes = shape_.lanes;
  stack_.along_masks = make_masks(
      shape_.out_elems, along.kernel,
      [&](index_t t, index_t i, index_t n, std::uint8_t* valid) {
        index_t lane = i % lanes, place = along.at(i % row / lanes, t), o = i % row / lanes;
        for (index_t j = 0; j < n; ++j) {
          valid[j] = along.input_at(place) >= 0;
          if (++lane < lanes) continue;
          lane = 0;
          place += along.stride;
          if (++o < along.out) continue;
          o = 0;
          place = along.at(0, t);
        }
      },
      arena);
  set_divisors(arena);

  const index_t plane_bytes = stack_.folded_pitch * kernel.lane_bytes;
  batch_ = std::clamp<index_t>(kFoldedBytes / std::max<index_t>(1, plane_bytes), 1, planes_);
  const index_t reach = (along.extent() + std::abs(along.first)) * lanes + 2 * kernel.vector;
  const index_t room = (batch_ * stack_.folded_pitch + 2 * reach + 2 * kernel.vector) * kernel.lane_bytes;
  std::byte* folded = arena.take(room);
  std::memset(folded, 0, at(room));
  stack_.folded = folded + (reach * kernel.lane_bytes + 63) / 64 * 64;
  copied_ = arena.take((batch_ * shape_.x_pitch + before_ + after_) * kernel.in_bytes);
  std::memset(copied_, 0, at((batch_ * shape_.x_pitch + before_ + after_) * kernel.in_bytes));
}

void StackFolder::list_taps(Arena& arena) {
  const Axis& across = shape_.across;
  const index_t pitch = shape_.in_elems, taps = across.kernel;
  stack_.across = static_cast<int>(taps);
  after_ = kernel_.vector;
  if (shape_.flat) {
    index_t* offset = arena.take_array<index_t>(taps);
    for (index_t t = 0; t < taps; ++t) {
      offset[t] = across.at(0, t) * pitch;
      before_ = std::max(before_, -offset[t]);
      after_ = std::max(after_, offset[t] + kernel_.vector);
    }
    stack_.offset = offset;
    stack_.across_masks = make_masks(
        shape_.x_pitch, taps,
        [&](index_t t, index_t i, index_t n, std::uint8_t* valid) {
          for (index_t j = 0; j < n; ++j) valid[j] = i + j + offset[t] >= 0 && i + j + offset[t] < shape_.x_pitch;
        },
        arena);
    return;
  }
  index_t* offset = arena.take_array<index_t>(across.out * taps);
  for (index_t i = 0; i < across.out * taps; ++i) {
    const index_t input = across.input_at(across.at(i / taps, i % taps));
    offset[i] = input < 0 ? kStackAbsent : input * pitch;
  }
  stack_.offset = offset;
  const index_t elems = pitch + kernel_.vector;
  std::byte* absent = arena.take(elems * kernel_.in_bytes);
  for (index_t i = 0; i < elems; ++i)
    std::memcpy(absent + i * kernel_.in_bytes, kernel_.absent.data(), at(kernel_.in_bytes));
  stack_.absent = absent;
}

// The masks of `elems` elements; valid(t, i, n, to) says which of the n from i on have a tap t.
template <class Valid>
const void* StackFolder::make_masks(index_t elems, index_t taps, const Valid& valid, Arena& arena) const {
  const index_t vectors = (elems + kernel_.vector - 1) / kernel_.vector;
  std::byte* masks = arena.take(vectors * taps * kernel_.mask_bytes);
  std::array<std::uint8_t, 64> bytes{};
  for (index_t v = 0; v < vectors; ++v) {
    const index_t begin = std::max<index_t>(0, std::min(v * kernel_.vector, elems - kernel_.vector));
    for (index_t t = 0; t < taps; ++t) {
      valid(t, begin, std::min(elems, kernel_.vector), bytes.data());
      kernel_.write_mask(bytes.data(), masks, v * taps + t);
    }
  }
  return masks;
}

template <class T>
void StackFolder::fill_divisors(T* each) const {
  const bool counts = job_.problem->pool.count_include_pad;
  for (index_t r = 0; r < shape_.across.out; ++r) {
    const index_t across = shape_.across.divisor(r, counts);
    for (index_t o = 0; o < shape_.along.out; ++o, each += shape_.lanes) {
      std::fill_n(each, shape_.lanes, static_cast<T>(across * shape_.along.divisor(o, counts)));
    }
  }
}

void StackFolder::set_divisors(Arena& arena) {
  const Pool& pool = job_.problem->pool;
  if (pool.op != Op::avg) return;
  const auto one_for_all = [&](const Axis& axis) {
    const Range full = axis.full();
    return full.size() == axis.out || (pool.count_include_pad && axis.divisor(0, true) == axis.kernel &&
                                       axis.divisor(axis.out - 1, true) == axis.kernel);
  };
  if (pool.divisor != 0) return stack_.divide_all(pool.divisor, job_.problem->dtype);
  if (one_for_all(shape_.across) && one_for_all(shape_.along)) {
    return stack_.divide_all(shape_.across.kernel * shape_.along.kernel, job_.problem->dtype);
  }
  std::byte* each = arena.take((shape_.out_elems + kernel_.vector) * kernel_.lane_bytes);
  std::memset(each, 0, at((shape_.out_elems + kernel_.vector) * kernel_.lane_bytes));
  if (kernel_.lane_bytes == 8)
    fill_divisors(reinterpret_cast<double*>(each));
  else
    fill_divisors(reinterpret_cast<float*>(each));
  stack_.divisor_each = each;
  stack_.lower = PlaneLower::divide_each;
}

bool StackFolder::fold(Range planes) {
  const index_t pitch = shape_.x_pitch * kernel_.in_bytes;
  const std::byte* x = static_cast<const std::byte*>(job_.x) + planes.begin * pitch;
  stack_.planes = planes.size();
  stack_.y = static_cast<std::byte*>(job_.y) + planes.begin * shape_.out_elems * kernel_.in_bytes;
  // What lies beside the tensor is not read.
  if (planes.begin * shape_.x_pitch < before_ || (planes_ - planes.end) * shape_.x_pitch < after_) {
    std::byte* to = copied_ + before_ * kernel_.in_bytes;
    std::memcpy(to, x, at(planes.size() * pitch));
    x = to;
  }
  stack_.x = x;
  return !kernel_.fold(stack_);
}

}  // namespace

bool can_stacks(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.pooled() != 2 || !layout.is_stack()) return false;
  const Pool& pool = job.problem->pool;
  if (pool.nan == NanPolicy::omit && is_floating(job.problem->dtype)) return false;
  const StackShape s(layout);
  if (!is_uniform(s.across) || !is_uniform(s.along) || !takes_along(s)) return false;
  const bool sums = pool.op != Op::max && pool.op != Op::min;
  if (sums && (!divides_in_vectors(pool) || has_empty_window(s.across) || has_empty_window(s.along))) return false;
  const StackKernel kernel = kernel_of(*job.problem);
  if (kernel.fold == nullptr || s.in_elems > kMostRowVectors * kernel.vector) return false;
  if (s.flat && s.x_pitch < kernel.vector) return false;
  const index_t most = kMostPlaneBytes / kernel.lane_bytes;
  return s.x_pitch <= most && s.across.out <= most / s.row_pitch;
}

bool stacks_pay(const FoldJob& job) {
  const index_t planes = job.layout.plane_count();
  return planes >= kLeastPlanes && planes >= task_bytes / (StackShape(job.layout).x_pitch * job.plain.in_bytes);
}

void run_stacks(const FoldJob& job, int threads) {
  const StackKernel kernel = kernel_of(*job.problem);
  const StackShape shape(job.layout);
  const index_t planes = job.layout.plane_count();
  parallel_for(planes, shape.x_pitch * kernel.in_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    StackFolder folder(job, kernel, arena);
    CarefulRows careful(job);
    for (index_t p = begin; p < end; p += folder.batch()) {
      const Range part = {p, std::min(end, p + folder.batch())};
      if (folder.fold(part)) continue;
      for (index_t plane = part.begin; plane < part.end; ++plane) careful.fold(plane, {0, shape.across.out});
    }
  });
}

}  // namespace oriel::cpu
