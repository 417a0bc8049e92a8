#include "oriel/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "oriel/tensor.h"

namespace oriel {
namespace {

// One pool's checks; every message begins with the pool's name.
struct Checker {
  const Pool& pool;
  std::string_view op;

  explicit Checker(const Pool& p) : pool(p), op(name(p.op)) {}

  [[noreturn]] void fail(const std::string& text) const { throw Error(std::string(op) + "_pool: " + text); }

  // What an error adds where the caller may not have thought of an axis.
  std::string of_all_axes(int rank) const {
    if (!pool.axes.empty() || rank < 2) return {};
    return "; no axes are named, so all " + std::to_string(rank) + " are pooled";
  }

  void check_count(const char* what, const Extents& list, const Problem& p) const {
    const int count = list.size(), rank = p.shape.size();
    if (count <= 1 || count == p.pooled) return;
    std::string hint = of_all_axes(rank);
    if (!hint.empty() && count < rank) {
      hint += " (axes ";
      for (int a = -count; a < 0; ++a) hint += std::to_string(a) + (a < -1 ? ", " : " ");
      hint += "are the last " + std::to_string(count) + ")";
    }
    fail(std::string(what) + " must have 1 value or one per pooled axis (" + std::to_string(p.pooled) + "), but has " +
         std::to_string(count) + hint);
  }

  void check_least(const char* what, const Extents& list, index_t least, const Problem& p) const {
    check_count(what, list, p);
    for (int i = 0; i < list.size(); ++i)
      if (list[i] < least)
        fail(std::string(what) + " must be >= " + std::to_string(least) + ", but axis " +
             std::to_string(p.axes[static_cast<std::size_t>(i)]) + " has " + std::to_string(list[i]));
  }

  // A list that this kind of window does not have: refused, never ignored.
  void check_absent(const char* what, const Extents& list, const char* where) const {
    if (!list.empty())
      fail(std::string(what) + " does not go with " + where + ", but has the value " + std::to_string(list[0]));
  }

  void check_shape(const Extents& shape) const;
  void check_options() const;
  void resolve_axes(Problem& p) const;
  void check_lists(const Problem& p) const;
  void resolve(Problem& p, int i) const;
  Axis resolve_uniform(const Problem& p, int i) const;
};

index_t value_of(const Extents& list, int i, index_t otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() == 1 ? 0 : i];
}

void Checker::check_shape(const Extents& shape) const {
  if (shape.empty()) fail("the input must have 1 to " + std::to_string(kMaxRank) + " axes, but has 0");
  index_t count = 1;
  for (int a = 0; a < shape.size(); ++a) {
    if (shape[a] < 0) fail("extents must be >= 0, but axis " + std::to_string(a) + " has " + std::to_string(shape[a]));
    if (shape[a] != 0 && __builtin_mul_overflow(count, shape[a], &count))
      fail("the input must have at most 2^63 - 1 elements, but its shape is " + to_string(shape));
  }
}

void Checker::check_options() const {
  if (pool.divisor < 0) fail("divisor must be >= 1 (or 0 for none), but is " + std::to_string(pool.divisor));
  if (pool.op != Op::avg && pool.divisor != 0)
    fail("divisor is only for avg_pool, but is " + std::to_string(pool.divisor));
  if (pool.op != Op::avg && !pool.count_include_pad) fail("count_include_pad is only for avg_pool, but is false");
  if (pool.op == Op::lp && !(pool.norm >= 1)) fail("norm must be >= 1, but is " + fmt::format("{}", pool.norm));
  if (pool.op != Op::lp && pool.norm != Pool{}.norm)
    fail("norm is only for lp_pool, but is " + fmt::format("{}", pool.norm));
  const bool uniform = pool.kind == WindowKind::uniform;
  if (pool.kind > WindowKind::global) fail("kind must be uniform, adaptive or global");
  if (pool.padding > Padding::same_lower) fail("padding must be given, same_upper or same_lower");
  if (pool.nan > NanPolicy::omit) fail("nan must be propagate or omit");
  if (!uniform) {
    const char* where = pool.kind == WindowKind::global ? "a global window" : "adaptive windows";
    check_absent("kernel", pool.kernel, where);
    check_absent("stride", pool.stride, where);
    check_absent("padding", pool.pad_lo, where);
    check_absent("padding", pool.pad_hi, where);
    check_absent("dilation", pool.dilation, where);
    if (pool.padding != Padding::given) fail(std::string("same padding does not go with ") + where);
    if (pool.ceil_mode) fail(std::string("ceil_mode does not go with ") + where);
  }
  if (pool.kind != WindowKind::adaptive)
    check_absent("output_size", pool.output_size, uniform ? "uniform windows" : "a global window");
  if (uniform && pool.kernel.empty()) fail("kernel must be given (1 value or one per pooled axis), but is empty");
  if (pool.kind == WindowKind::adaptive && pool.output_size.empty())
    fail("output_size must be given (1 value or one per pooled axis), but is empty");
  if (pool.padding != Padding::given) {
    check_absent("padding", pool.pad_lo, "same padding");
    check_absent("padding", pool.pad_hi, "same padding");
    if (pool.ceil_mode) fail("ceil_mode does not go with same padding");
  }
}

void Checker::resolve_axes(Problem& p) const {
  const int rank = p.shape.size();
  const Extents axes = default_axes(pool, rank);
  if (axes.size() > kMaxPooledAxes)
    fail("1 to " + std::to_string(kMaxPooledAxes) + " axes can be pooled, but there are " +
         std::to_string(axes.size()) + of_all_axes(rank));
  for (index_t asked : axes) {
    if (asked < -rank || asked >= rank)
      fail("axes must be in " + std::to_string(-rank) + " to " + std::to_string(rank - 1) + ", but one is " +
           std::to_string(asked));
    const int axis = static_cast<int>(asked < 0 ? asked + rank : asked);
    for (int i = 0; i < p.pooled; ++i)
      if (p.axes[static_cast<std::size_t>(i)] == axis)
        fail("axes must each be named once, but " + std::to_string(axis) + " is named twice");
    p.axes[static_cast<std::size_t>(p.pooled++)] = axis;
    if (p.shape[axis] < 1)
      fail("pooled axes must have extent >= 1, but axis " + std::to_string(axis) + " has 0" + of_all_axes(rank));
  }
}

void Checker::check_lists(const Problem& p) const {
  check_least("kernel", pool.kernel, 1, p);
  check_least("stride", pool.stride, 1, p);
  check_least("padding", pool.pad_lo, 0, p);
  check_least("padding", pool.pad_hi, 0, p);
  check_least("dilation", pool.dilation, 1, p);
  check_least("output_size", pool.output_size, 1, p);
}

Axis Checker::resolve_uniform(const Problem& p, int i) const {
  const int number = p.axes[static_cast<std::size_t>(i)];
  const index_t in = p.shape[number];
  const index_t kernel = value_of(pool.kernel, i, 1);
  const index_t stride = value_of(pool.stride, i, kernel);
  const index_t dilation = value_of(pool.dilation, i, 1);
  index_t lo = value_of(pool.pad_lo, i, 0), hi = value_of(pool.pad_hi, i, lo);

  // Every later sum of Axis stays below in + padding + stride + span of the window.
  index_t span = 0, reach = 0;
  bool over = __builtin_mul_overflow(dilation, kernel - 1, &span) || __builtin_add_overflow(span, 1, &span) ||
              __builtin_add_overflow(span, in, &reach) || __builtin_add_overflow(reach, stride, &reach);
  if (!over && pool.padding != Padding::given) {
    const index_t total = Axis::same_padding(in, kernel, stride, dilation);
    lo = hi = total / 2;
    (pool.padding == Padding::same_upper ? hi : lo) += total % 2;
  }
  over = over || __builtin_add_overflow(reach, lo, &reach) || __builtin_add_overflow(reach, hi, &reach);
  if (over)
    fail("extent, padding, stride and window must stay below 2^63 together, but axis " + std::to_string(number) +
         " has extent " + std::to_string(in) + ", padding " + std::to_string(lo) + "+" + std::to_string(hi) +
         ", stride " + std::to_string(stride) + ", kernel " + std::to_string(kernel) + ", dilation " +
         std::to_string(dilation));
  if (span > in + lo + hi)
    fail("the window must fit in the padded input, but on axis " + std::to_string(number) + " it spans " +
         std::to_string(span) + " and the padded input is " + std::to_string(in + lo + hi) +
         of_all_axes(p.shape.size()));
  return Axis::uniform(in, kernel, stride, lo, hi, dilation, pool.ceil_mode);
}

void Checker::resolve(Problem& p, int i) const {
  const int number = p.axes[static_cast<std::size_t>(i)];
  const index_t in = p.shape[number];
  Axis& axis = p.axis[static_cast<std::size_t>(i)];
  if (pool.kind == WindowKind::uniform) {
    axis = resolve_uniform(p, i);
  } else {
    axis = Axis::make_even(in, pool.kind == WindowKind::global ? 1 : value_of(pool.output_size, i, 1));
  }
  p.output_shape[number] = axis.out;
}

}  // namespace

index_t Problem::taps() const {
  index_t product = 1;
  for (int i = 0; i < pooled; ++i) product *= axis[static_cast<std::size_t>(i)].kernel;
  return product;
}

Extents default_axes(const Pool& pool, int rank) {
  Extents axes = pool.axes;
  if (!axes.empty()) return axes;
  for (int a = 0; a < rank; ++a) axes.push_back(a);
  return axes;
}

Problem make_problem(const Pool& pool, Dtype dtype, const Extents& shape) {
  const Checker checker(pool);
  name(dtype);  // refuses a value that names no dtype
  checker.check_shape(shape);
  checker.check_options();
  Problem p;  // not by a list of its members: g++ 12 would first set all of it to zero
  p.pool = pool;
  p.dtype = dtype;
  p.shape = p.output_shape = shape;
  checker.resolve_axes(p);
  checker.check_lists(p);
  index_t taps = 1;
  for (int i = 0; i < p.pooled; ++i) {
    checker.resolve(p, i);
    if (__builtin_mul_overflow(taps, p.axis[static_cast<std::size_t>(i)].kernel, &taps))
      checker.fail("a window must have at most 2^63 - 1 taps, but has more");
  }
  index_t count = 1;
  for (index_t extent : p.output_shape)
    if (extent != 0 && __builtin_mul_overflow(count, extent, &count))
      checker.fail("the output must have at most 2^63 - 1 elements, but its shape is " + to_string(p.output_shape));
  return p;
}

}  // namespace oriel
