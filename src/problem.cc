#include "oriel/problem.h"

#include <utility>

#include "resolve.h"
#include "statistic_rules.h"
#include "text.h"

namespace oriel {
namespace {

// One pool's checks, for the function that was called.
struct Checker {
  std::string_view function;
  const Pool& pool;
  const Windows& windows;

  Checker(std::string_view name, const Pool& p) : function(name), pool(p), windows(p.windows) {}

  [[noreturn]] void fail(std::string argument, std::string allowed, std::string value = {}) const {
    throw Error(Error::Fields{.function = std::string(function),
                              .argument = std::move(argument),
                              .allowed = std::move(allowed),
                              .value = std::move(value)});
  }

  // What an error adds if the caller may not have thought of an axis.
  std::string of_all_axes(int rank) const {
    if (!windows.axes.empty() || rank < 2) return {};
    return fmt::format("; no axes are named, so all {} are pooled", rank);
  }

  void check_count(const char* what, const Extents& list, const Problem& p) const {
    const int count = list.size(), rank = p.shape.size();
    if (count <= 1 || count == p.pooled) return;
    std::string hint = of_all_axes(rank);
    if (!hint.empty() && count < rank) {
      hint += " (axes ";
      for (int a = -count; a < 0; ++a) hint += std::to_string(a) + (a < -1 ? ", " : " ");
      hint += fmt::format("are the last {})", count);
    }
    fail(what, fmt::format("must have 1 value or one per pooled axis ({})", p.pooled),
         fmt::format("has {}{}", count, hint));
  }

  void check_least(const char* what, const Extents& list, index_t least, const Problem& p) const {
    check_count(what, list, p);
    for (int i = 0; i < list.size(); ++i) {
      if (list[i] < least) {
        fail(what, fmt::format("must be >= {}", least),
             fmt::format("axis {} has {}", p.axes[static_cast<std::size_t>(i)], list[i]));
      }
    }
  }

  // A list that this kind of window does not have: refused, never ignored.
  void check_absent(const char* what, const Extents& list, const char* with) const {
    if (!list.empty())
      fail(what, fmt::format("cannot be combined with {}", with), fmt::format("has the value {}", list[0]));
  }

  void check_shape(const Extents& shape) const;
  void check_options() const;
  void check_windows() const;
  void resolve_axes(Problem& p) const;
  void check_lists(const Problem& p) const;
  bool has_statistic_options() const;
  void check_footprint(const Problem& p) const;
  void add_quantile_axis(Problem& p) const;
  void resolve(Problem& p, int i) const;
  Axis resolve_uniform(const Problem& p, int i) const;
};

index_t value_of(const Extents& list, int i, index_t otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() == 1 ? 0 : i];
}

void Checker::check_shape(const Extents& shape) const {
  if (shape.empty()) fail("the input", fmt::format("must have 1 to {} axes", kMaxRank), "has 0");
  index_t count = 1;
  for (int a = 0; a < shape.size(); ++a) {
    if (shape[a] < 0) fail("extents", "must be >= 0", fmt::format("axis {} has {}", a, shape[a]));
    if (shape[a] != 0 && __builtin_mul_overflow(count, shape[a], &count)) {
      fail("the input", "must have at most 2^63 - 1 elements", "its shape is " + to_string(shape));
    }
  }
}

void Checker::check_options() const {
  if (pool.divisor < 0) fail("divisor", "must be >= 1 (or 0 for none)", fmt::format("is {}", pool.divisor));
  if (pool.op != Op::avg && pool.divisor != 0) {
    fail("divisor", "is only for avg_pool", fmt::format("is {}", pool.divisor));
  }
  if (pool.op != Op::avg && !pool.count_include_pad) fail("count_include_pad", "is only for avg_pool", "is false");
  if (pool.op == Op::lp && !(pool.norm >= 1)) fail("norm", "must be >= 1", fmt::format("is {}", pool.norm));
  if (pool.op != Op::lp && pool.norm != Pool{}.norm) {
    fail("norm", "is only for lp_pool", fmt::format("is {}", pool.norm));
  }
  if (pool.nan > NanPolicy::omit) fail("nan", "must be propagate or omit");
}

void Checker::check_windows() const {
  const bool uniform = windows.kind == WindowKind::uniform;
  if (windows.kind > WindowKind::global) fail("kind", "must be uniform, adaptive or global");
  if (windows.padding > Padding::same_lower) fail("padding", "must be given, same_upper or same_lower");
  if (!uniform) {
    const char* with = windows.kind == WindowKind::global ? "a global window" : "adaptive windows";
    check_absent("kernel", windows.kernel, with);
    check_absent("stride", windows.stride, with);
    check_absent("padding", windows.pad_lo, with);
    check_absent("padding", windows.pad_hi, with);
    check_absent("dilation", windows.dilation, with);
    if (windows.padding != Padding::given) fail("same padding", fmt::format("cannot be combined with {}", with));
    if (windows.ceil_mode) fail("ceil_mode", fmt::format("cannot be combined with {}", with));
  }
  if (windows.kind != WindowKind::adaptive) {
    check_absent("output_size", windows.output_size, uniform ? "uniform windows" : "a global window");
  }
  if (uniform && windows.kernel.empty() && pool.footprint.empty())
    fail("kernel", "must be given (1 value or one per pooled axis)", "is empty");
  if (windows.kind == WindowKind::adaptive && windows.output_size.empty()) {
    fail("output_size", "must be given (1 value or one per pooled axis)", "is empty");
  }
  if (windows.padding != Padding::given) {
    check_absent("padding", windows.pad_lo, "same padding");
    check_absent("padding", windows.pad_hi, "same padding");
    if (windows.ceil_mode) fail("ceil_mode", "cannot be combined with same padding");
  }
}

void Checker::resolve_axes(Problem& p) const {
  const int rank = p.shape.size();
  const int count = windows.axes.empty() ? rank : windows.axes.size();
  if (count > kMaxPooledAxes) {
    fail("axes", fmt::format("must be at most {}", kMaxPooledAxes),
         fmt::format("there are {}{}", count, of_all_axes(rank)));
  }
  for (int i = 0; i < count; ++i) {
    const index_t asked = windows.axes.empty() ? i : windows.axes[i];
    if (asked < -rank || asked >= rank) {
      fail("axes", fmt::format("must be in {} to {}", -rank, rank - 1), fmt::format("one is {}", asked));
    }
    const int axis = static_cast<int>(asked < 0 ? asked + rank : asked);
    for (int j = 0; j < p.pooled; ++j) {
      if (p.axes[static_cast<std::size_t>(j)] == axis) {
        fail("axes", "must each be named once", fmt::format("{} is named twice", axis));
      }
    }
    p.axes[static_cast<std::size_t>(p.pooled++)] = axis;
    if (p.shape[axis] < 1) {
      fail("pooled axes", "must have extent >= 1", fmt::format("axis {} has 0{}", axis, of_all_axes(rank)));
    }
  }
}

void Checker::check_lists(const Problem& p) const {
  check_least("kernel", windows.kernel, 1, p);
  check_least("stride", windows.stride, 1, p);
  check_least("padding", windows.pad_lo, 0, p);
  check_least("padding", windows.pad_hi, 0, p);
  check_least("dilation", windows.dilation, 1, p);
  check_least("output_size", windows.output_size, 1, p);
}

// Whether anything of S13-S20 is asked for; then these options are checked, too.
bool Checker::has_statistic_options() const {
  return pool.op > Op::lp || !pool.footprint.empty() || !pool.footprint.shape.empty() || pool.nodata ||
         pool.min_count != 0 || pool.min_fraction != 0 || pool.fill || pool.result_dtype || !pool.q.empty() ||
         pool.rank || pool.method != Quantile::lower || pool.tie != Tie::lowest || pool.ignore || pool.ddof != 0 ||
         pool.sharpness != 1 || pool.sum_of_exponentials;
}

// A footprint without taps is none; its shape may stand for the kernel.
void Checker::check_footprint(const Problem& p) const {
  const Footprint& footprint = pool.footprint;
  if (footprint.shape.empty() && footprint.empty()) return;
  if (footprint.shape.empty() || footprint.empty())
    fail("footprint", "must have a shape and taps", "one of them is empty");
  if (footprint.shape.size() != p.pooled) {
    fail("footprint", fmt::format("must have an axis for each of the {} pooled ones", p.pooled),
         fmt::format("has {}{}", footprint.shape.size(), of_all_axes(p.shape.size())));
  }
  for (int i = 0; i < footprint.shape.size(); ++i) {
    if (footprint.shape[i] < 1)
      fail("footprint", "must have extents >= 1", fmt::format("axis {} has {}", i, footprint.shape[i]));
  }
}

void Checker::add_quantile_axis(Problem& p) const {
  if (p.shape.size() == kMaxRank)
    fail("q", fmt::format("must be 1 value for tensors of {} axes", kMaxRank), fmt::format("has {}", pool.q.size()));
  Extents shape{detail::quantile_count(pool)};
  for (const index_t extent : p.output_shape) shape.push_back(extent);
  p.output_shape = shape;
}

Axis Checker::resolve_uniform(const Problem& p, int i) const {
  const int number = p.axes[static_cast<std::size_t>(i)];
  const index_t in = p.shape[number];
  const index_t kernel = windows.kernel.empty() ? pool.footprint.shape[i] : value_of(windows.kernel, i, 1);
  const index_t stride = value_of(windows.stride, i, kernel);
  const index_t dilation = value_of(windows.dilation, i, 1);
  index_t lo = value_of(windows.pad_lo, i, 0), hi = value_of(windows.pad_hi, i, lo);

  // Every later sum of Axis stays below in + padding + stride + span of the window.
  index_t span = 0, reach = 0;
  bool over = __builtin_mul_overflow(dilation, kernel - 1, &span) || __builtin_add_overflow(span, 1, &span) ||
              __builtin_add_overflow(span, in, &reach) || __builtin_add_overflow(reach, stride, &reach);
  if (!over && windows.padding != Padding::given) {
    const index_t total = Axis::same_padding(in, kernel, stride, dilation);
    lo = hi = total / 2;
    (windows.padding == Padding::same_upper ? hi : lo) += total % 2;
  }
  over = over || __builtin_add_overflow(reach, lo, &reach) || __builtin_add_overflow(reach, hi, &reach);
  if (over) {
    fail("extent, padding, stride and window", "must stay below 2^63 together",
         fmt::format("axis {} has extent {}, padding {}+{}, stride {}, kernel {}, dilation {}", number, in, lo, hi,
                     stride, kernel, dilation));
  }
  if (span > in + lo + hi) {
    fail("the window", "must fit in the padded input",
         fmt::format("on axis {} it spans {} and the padded input is {}{}", number, span, in + lo + hi,
                     of_all_axes(p.shape.size())));
  }
  return Axis::uniform(in, kernel, stride, lo, hi, dilation, windows.ceil_mode);
}

void Checker::resolve(Problem& p, int i) const {
  const int number = p.axes[static_cast<std::size_t>(i)];
  const index_t in = p.shape[number];
  Axis& axis = p.axis[static_cast<std::size_t>(i)];
  if (windows.kind == WindowKind::uniform) {
    axis = resolve_uniform(p, i);
  } else {
    axis = Axis::make_even(in, windows.kind == WindowKind::global ? 1 : value_of(windows.output_size, i, 1));
  }
  p.output_shape[number] = axis.out;
}

}  // namespace

index_t Problem::taps() const {
  index_t product = 1;
  for (int i = 0; i < pooled; ++i) product *= axis[static_cast<std::size_t>(i)].kernel;
  return product;
}

Extents pooled_axes(const Pool& pool, int rank) {
  const Problem p = detail::resolve_axes(detail::function_of(pool.op), pool.windows.axes, Extents::filled(rank, 1));
  Extents axes;
  for (int i = 0; i < p.pooled; ++i) axes.push_back(p.axes[static_cast<std::size_t>(i)]);
  return axes;
}

Problem make_problem(const Pool& pool, Dtype dtype, const Extents& shape) {
  return detail::resolve(detail::function_of(pool.op), pool, dtype, shape);
}

namespace detail {

std::string_view function_of(Op op) {
  switch (op) {
#define ORIEL_OP(name, family) \
  case Op::name:               \
    return #name "_pool";
#include "oriel/ops.def"
#undef ORIEL_OP
  }
  name(op);  // throws for a value that names no op
  return {};
}

Problem resolve_axes(std::string_view function, const Extents& axes, const Extents& shape) {
  Pool pool;
  pool.windows.axes = axes;
  const Checker checker(function, pool);
  checker.check_shape(shape);
  Problem p;
  p.shape = p.output_shape = shape;
  checker.resolve_axes(p);
  return p;
}

Problem resolve(std::string_view function, const Pool& pool, Dtype dtype, const Extents& shape) {
  const Checker checker(function, pool);
  name(dtype);  // refuses a value that names no dtype
  checker.check_shape(shape);
  checker.check_options();
  checker.check_windows();
  Problem p;  // not by a list of its members: g++ 12 would first set all of it to zero
  p.pool = pool;
  p.dtype = dtype;
  const bool statistic = checker.has_statistic_options();
  if (statistic) check_statistic(function, pool, dtype);
  p.result = statistic ? result_dtype(pool, dtype) : dtype;
  p.shape = p.output_shape = shape;
  checker.resolve_axes(p);
  checker.check_lists(p);
  if (statistic) checker.check_footprint(p);
  index_t taps = 1;
  for (int i = 0; i < p.pooled; ++i) {
    checker.resolve(p, i);
    if (__builtin_mul_overflow(taps, p.axis[static_cast<std::size_t>(i)].kernel, &taps)) {
      checker.fail("a window", "must have at most 2^63 - 1 taps", "has more");
    }
  }
  if (statistic) {
    check_statistic_windows(function, p);
    if (quantile_count(pool) > 1) checker.add_quantile_axis(p);
  }
  index_t count = 1;
  for (index_t extent : p.output_shape) {
    if (extent != 0 && __builtin_mul_overflow(count, extent, &count)) {
      checker.fail("the output", "must have at most 2^63 - 1 elements", "its shape is " + to_string(p.output_shape));
    }
  }
  return p;
}

}  // namespace detail
}  // namespace oriel
