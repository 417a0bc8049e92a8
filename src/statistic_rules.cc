#include "statistic_rules.h"

#include <cmath>
#include <cstring>

#include "real_number.h"
#include "resolve.h"
#include "text.h"

namespace oriel {
namespace detail {
namespace {

struct Fail {
  std::string_view function;

  [[noreturn]] void operator()(std::string argument, std::string allowed, std::string value = {}) const {
    throw Error(Error::Fields{.function = std::string(function),
                              .argument = std::move(argument),
                              .allowed = std::move(allowed),
                              .value = std::move(value)});
  }
};

bool is_integer(Dtype dtype) { return !is_floating(dtype) && dtype != Dtype::boolean; }

bool is_wide_integer(Dtype dtype) {
  return dtype == Dtype::i64 || dtype == Dtype::u64 || dtype == Dtype::i32 || dtype == Dtype::u32;
}

bool is_unsigned(Dtype dtype) {
  return dtype == Dtype::u8 || dtype == Dtype::u16 || dtype == Dtype::u32 || dtype == Dtype::u64 ||
         dtype == Dtype::boolean;
}

Dtype default_result(Op op, Dtype dtype) {
  switch (op) {
    case Op::any:
    case Op::all:
      return Dtype::boolean;
    case Op::count:
    case Op::nunique:
      return Dtype::i64;
    case Op::prod:
      return is_floating(dtype) ? dtype : is_unsigned(dtype) ? Dtype::u64 : Dtype::i64;
    case Op::var:
    case Op::std:
    case Op::rms:
    case Op::geo:
    case Op::harm:
    case Op::lse:
    case Op::soft:
      return is_floating(dtype) ? dtype : Dtype::f64;
    default:
      return dtype;
  }
}

// What result_dtype may be.
bool allows_result(Op op, Dtype dtype, Dtype result) {
  if (result == default_result(op, dtype) || result == Dtype::f64 || result == Dtype::f32) return true;
  if (op == Op::count) return is_integer(result);
  if (op == Op::sum || op == Op::prod) return is_wide_integer(result) && !is_floating(dtype);
  if (op == Op::range) return is_integer(result) && is_integer(dtype);
  return false;
}

const char* allowed_results(Op op) {
  if (op == Op::count) return "must be f64, f32 or an integer dtype";
  if (op == Op::sum || op == Op::prod) return "must be f64, f32, that of x or, for integers, i64, u64, i32 or u32";
  if (op == Op::range) return "must be f64, f32, that of x or, for integers, an integer dtype";
  return "must be f64, f32 or the dtype that it has by default";
}

template <class T>
bool holds(const Scalar& value) {
  return std::visit(
      [](auto v) {
        using V = decltype(v);
        if constexpr (std::is_same_v<T, bool8>) {
          return v == V(0) || v == V(1);
        } else if constexpr (is_floating_v<T>) {
          if constexpr (std::is_same_v<V, double>) {
            return std::isnan(v) || static_cast<double>(T(v)) == v;
          } else {
            const auto wide = static_cast<double>(v);
            return std::fabs(wide) < 0x1p63 && static_cast<V>(wide) == v && static_cast<double>(T(wide)) == wide;
          }
        } else if constexpr (std::is_same_v<V, double>) {
          constexpr double kEnd =
              static_cast<double>(std::uint64_t{1} << (sizeof(T) * 8 - 1)) * (std::is_unsigned_v<T> ? 2.0 : 1.0);
          return v == std::floor(v) && v >= static_cast<double>(std::numeric_limits<T>::min()) && v < kEnd;
        } else {
          return std::in_range<T>(v);
        }
      },
      value);
}

}  // namespace

index_t needed_taps(const Pool& pool) {
  switch (pool.op) {
    case Op::max:
    case Op::min:
    case Op::avg:
    case Op::sum:
    case Op::lp:
    case Op::count:
    case Op::any:
    case Op::all:
    case Op::prod:
      return 0;
    case Op::var:
    case Op::std:
      return pool.ddof + index_t{1};
    default:
      return 1;
  }
}

index_t quantile_count(const Pool& pool) {
  return pool.op == Op::quantile && pool.q.size() > 1 ? static_cast<index_t>(pool.q.size()) : 1;
}

bool is_representable(const Scalar& value, Dtype dtype) {
  return visit(dtype, [&]<class T>() { return holds<T>(value); });
}

void store(const Scalar& value, Dtype dtype, void* to) {
  visit(dtype, [&]<class T>() {
    const T stored = std::visit(
        [](auto v) {
          if constexpr (std::is_same_v<T, bool8>)
            return bool8(v != decltype(v)(0));
          else if constexpr (is_floating_v<T>)
            return T(static_cast<double>(v));
          else
            return static_cast<T>(v);
        },
        value);
    std::memcpy(to, &stored, sizeof(T));
  });
}

std::string to_string(const Scalar& value) {
  return std::visit([](auto v) { return fmt::format("{}", v); }, value);
}

void check_statistic(std::string_view function, const Pool& pool, Dtype dtype) {
  const Fail fail{function};
  const auto only_for = [&](bool given, const char* argument, bool allowed, const char* ops) {
    if (given && !allowed) fail(argument, fmt::format("is only for {}", ops), "is given");
  };
  const Op op = pool.op;
  const bool ranks = op == Op::median || op == Op::quantile;
  only_for(!pool.q.empty(), "q", op == Op::quantile, "quantile_pool");
  only_for(pool.rank.has_value(), "rank", op == Op::quantile, "quantile_pool");
  only_for(pool.method != Quantile::lower, "method", ranks, "median_pool and quantile_pool");
  only_for(pool.tie != Tie::lowest, "ties", op == Op::mode, "mode_pool");
  only_for(pool.ignore.has_value(), "ignore", op == Op::mode, "mode_pool");
  only_for(pool.ddof != 0, "ddof", op == Op::var || op == Op::std, "var_pool and std_pool");
  only_for(pool.sharpness != 1, "sharpness", op == Op::lse, "lse_pool");
  only_for(pool.sum_of_exponentials, "sum", op == Op::lse, "lse_pool");
  if (op == Op::quantile) {
    if (pool.q.empty() == !pool.rank) fail("q", "or rank must be given, one of them");
    if (pool.rank && pool.method != Quantile::lower) fail("method", "cannot be combined with rank");
    if (pool.q.size() > 4096) fail("q", "must have at most 4096 values", fmt::format("has {}", pool.q.size()));
  }
  for (const double q : pool.q) {
    if (!(q >= 0 && q <= 1)) fail("q", "must be in 0 to 1", fmt::format("is {}", q));
  }
  if (pool.method > Quantile::scipy) fail("method", "must name a quantile");
  if (pool.tie > Tie::first) fail("ties", "must be lowest, highest or first");
  if (pool.ddof < 0) fail("ddof", "must be >= 0", fmt::format("is {}", pool.ddof));
  if (!(pool.sharpness > 0) || std::isinf(pool.sharpness))
    fail("sharpness", "must be > 0 and finite", fmt::format("is {}", pool.sharpness));
  if (pool.min_count < 0) fail("min_count", "must be >= 0", fmt::format("is {}", pool.min_count));
  if (!(pool.min_fraction >= 0 && pool.min_fraction <= 1))
    fail("min_fraction", "must be in 0 to 1", fmt::format("is {}", pool.min_fraction));
  const auto fits = [&](const char* argument, const std::optional<Scalar>& value, Dtype type, const char* whose) {
    if (value && !is_representable(*value, type)) {
      fail(argument, fmt::format("must be a value of dtype {}{}", name(type), whose),
           fmt::format("is {}", to_string(*value)));
    }
  };
  fits("nodata", pool.nodata, dtype, ", x's");
  fits("ignore", pool.ignore, dtype, ", x's");
  if (pool.result_dtype && !allows_result(op, dtype, *pool.result_dtype))
    fail("dtype", allowed_results(op), fmt::format("is {}", name(*pool.result_dtype)));
  fits("fill", pool.fill, pool.result_dtype.value_or(default_result(op, dtype)), ", the result's");
}

void check_statistic_windows(std::string_view function, const Problem& problem) {
  const Fail fail{function};
  const Pool& pool = problem.pool;
  index_t taps = problem.taps();
  if (!pool.footprint.empty()) {
    if (pool.windows.kind != WindowKind::uniform) fail("footprint", "cannot be combined with other windows");
    for (int i = 0; i < problem.pooled; ++i) {
      const index_t kernel = problem.axis[static_cast<std::size_t>(i)].kernel;
      if (pool.footprint.shape[i] != kernel)
        fail("footprint", "must have the shape of the kernel",
             fmt::format("has {} where the kernel has {}", pool.footprint.shape[i], kernel));
    }
    if (static_cast<index_t>(pool.footprint.taps.size()) != taps)
      fail("footprint", fmt::format("must have {} taps", taps), fmt::format("has {}", pool.footprint.taps.size()));
    taps = 0;
    for (const std::uint8_t tap : pool.footprint.taps) taps += tap != 0 ? 1 : 0;
    if (taps == 0) fail("footprint", "must have a tap", "all are false");
  }
  if (pool.ddof >= taps)
    fail("ddof", fmt::format("must be less than the {} taps of a window", taps), fmt::format("is {}", pool.ddof));
  if (pool.min_count > taps)
    fail("min_count", fmt::format("must be at most the {} taps of a window", taps),
         fmt::format("is {}", pool.min_count));
  if (pool.rank && (*pool.rank < -taps || *pool.rank >= taps))
    fail("rank", fmt::format("must be in {} to {}", -taps, taps - 1), fmt::format("is {}", *pool.rank));
  if (pool.rank) {
    if (pool.nodata || (pool.nan == NanPolicy::omit && is_floating(problem.dtype)))
      fail("rank", "needs windows whose taps are all valid; use q", "some may be left out");
    for (int i = 0; i < problem.pooled; ++i) {
      const Axis& axis = problem.axis[static_cast<std::size_t>(i)];
      for (const index_t o : {index_t{0}, axis.out - 1}) {
        if (axis.taps(o).size() != axis.kernel)
          fail("rank", "needs windows whose taps all exist; use q", "some reach beyond the input");
      }
    }
  }
  if (pool.op == Op::count && is_integer(problem.result)) {
    Scalar most = static_cast<std::int64_t>(taps);
    if (!is_representable(most, problem.result))
      fail("dtype", fmt::format("must hold the {} taps of a window", taps), fmt::format("is {}", name(problem.result)));
  }
}

}  // namespace detail

Dtype result_dtype(const Pool& pool, Dtype dtype) {
  detail::check_statistic(detail::function_of(pool.op), pool, dtype);
  return pool.result_dtype.value_or(detail::default_result(pool.op, dtype));
}

bool Problem::has_valid_taps() const {
  return pool.op > Op::lp || !pool.footprint.empty() || pool.nodata || pool.min_count != 0 || pool.min_fraction != 0 ||
         pool.fill || result != dtype;
}

}  // namespace oriel
