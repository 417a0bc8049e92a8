#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oriel/pyramid.h"
#include "pyramid/rules.h"
#include "resolve.h"

namespace oriel {
namespace {

[[noreturn]] void refuse(std::string argument, std::string allowed, std::string value) {
  throw Error(Error::Fields{.function = "pyramid",
                            .argument = std::move(argument),
                            .allowed = std::move(allowed),
                            .value = std::move(value)});
}

// One value for each axis.
Extents spread(const Extents& given, int rank, const std::string& argument, index_t least) {
  const Extents all = given.size() == 1 ? Extents::filled(rank, given[0]) : given;
  if (all.size() != rank) {
    refuse(argument, fmt::format("must have 1 value or {}, one for each axis", rank),
           fmt::format("has {}", to_string(given)));
  }
  for (int d = 0; d < rank; ++d) {
    if (all[d] < least) {
      refuse(argument, fmt::format("must be >= {}", least), fmt::format("axis {} has {}", d, all[d]));
    }
  }
  return all;
}

void check_pool(const Pool& pool) {
  if (pool.windows != Windows{}) {
    refuse("windows", "must be left as they are: factors say what a level's windows are", "are set");
  }
  if (pool.op == Op::quantile && pool.q.size() > 1) {
    refuse("q", "must be 1 value", fmt::format("has {}", pool.q.size()));
  }
  if (pool.op == Op::lse || pool.op == Op::soft || pool.op == Op::centre) {
    refuse("op", "must be one that reduces windows to a value of their own kind", fmt::format("is {}", name(pool.op)));
  }
  if (!pool.footprint.empty()) refuse("footprint", "must be empty", "is given");
  if (pool.divisor != 0) refuse("divisor", "must be 0", fmt::format("is {}", pool.divisor));
}

index_t checked_product(index_t a, index_t b, const std::string& argument) {
  index_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) refuse(argument, "must multiply to less than 2^63", "are more");
  return product;
}

// The extent of an axis of a level.
index_t level_extent(const Pyramid& pyramid, index_t n, index_t factor, index_t lead, int level, int axis) {
  const index_t whole = n + lead;
  if (pyramid.edge == Edge::exact && (whole % factor != 0 || lead != 0)) {
    refuse("shape",
           fmt::format("must be a multiple of {} along axis {} for level {} with edge exact", factor, axis, level),
           fmt::format("is {}", n));
  }
  return pyramid.edge == Edge::trim ? whole / factor : ceil_div(whole, factor);
}

}  // namespace

namespace detail {

LevelSource level_source(const Pyramid& pyramid) {
  if (pyramid.source) return *pyramid.source;
  const bool rank = pyramid.pool.op == Op::median || pyramid.pool.op == Op::quantile;
  return rank ? LevelSource::previous : LevelSource::base;
}

Pool level_pool(const Pyramid& pyramid) {
  Pool pool = pyramid.pool;
  if (pool.op == Op::avg) pool.count_include_pad = false;  // what lies outside of the volume is no tap
  return pool;
}

}  // namespace detail

std::vector<PyramidLevel> pyramid_levels(const Pyramid& pyramid, Dtype dtype, const Extents& shape) {
  const int rank = shape.size();
  if (rank == 0) refuse("shape", "must have at least 1 axis", "has none");
  for (int d = 0; d < rank; ++d) {
    if (shape[d] < 1) refuse("shape", "must be >= 1", fmt::format("axis {} has {}", d, shape[d]));
  }
  if (pyramid.factors.empty()) refuse("factors", "must be given for 1 level or more", "are none");
  check_pool(pyramid.pool);
  const Dtype result = result_dtype(pyramid.pool, dtype);
  if (detail::level_source(pyramid) == LevelSource::previous && result != dtype) {
    refuse("dtype", "must stay that of the input if a level is made of the one before it",
           fmt::format("becomes {}", name(result)));
  }
  const Extents origin = pyramid.origin.empty() ? Extents::filled(rank, 0) : spread(pyramid.origin, rank, "origin", 0);
  std::vector<PyramidLevel> levels{{dtype, shape, Extents::filled(rank, 1), Extents::filled(rank, 0)}};
  for (std::size_t l = 0; l < pyramid.factors.size(); ++l) {
    const std::string argument = fmt::format("factors of level {}", l + 1);
    const Extents step = spread(pyramid.factors[l], rank, argument, 1);
    if (std::all_of(step.begin(), step.end(), [](index_t f) { return f == 1; })) {
      refuse(argument, "must be > 1 for some axis", fmt::format("are {}", to_string(step)));
    }
    PyramidLevel level{result, {}, {}, {}};
    for (int d = 0; d < rank; ++d) {
      const index_t factor = checked_product(levels.back().factor[d], step[d], "factors");
      const index_t lead = origin[d] % factor;
      if (pyramid.edge == Edge::trim && lead != 0) {
        refuse("origin", fmt::format("must be a multiple of {} along axis {} with edge trim", factor, d),
               fmt::format("is {}", origin[d]));
      }
      index_t last = 0;  // the end of the last window must be countable
      if (__builtin_add_overflow(shape[d], lead, &last) || __builtin_add_overflow(last, factor, &last)) {
        refuse("shape", "must be less than 2^63", fmt::format("axis {} has {}", d, shape[d]));
      }
      const index_t extent = level_extent(pyramid, shape[d], factor, lead, static_cast<int>(l + 1), d);
      if (extent == 0) {
        refuse("shape", fmt::format("must be >= {} along axis {} for level {} with edge trim", factor, d, l + 1),
               fmt::format("is {}", shape[d]));
      }
      level.factor.push_back(factor);
      level.lead.push_back(lead);
      level.shape.push_back(extent);
    }
    element_count(level.factor);  // throws if a window has too many taps to count
    levels.push_back(level);
  }
  detail::check_options(pyramid, dtype, element_count(levels[1].factor));
  return levels;
}

namespace detail {

void check_options(const Pyramid& pyramid, Dtype dtype, index_t taps) {
  Pool pool = level_pool(pyramid);
  pool.windows.kernel = {taps};
  resolve("pyramid", pool, dtype, {taps});
}

}  // namespace detail

std::vector<Extents> pyramid_factors(const Extents& shape, const std::vector<double>& spacing, const Extents& axes,
                                     const Extents& most) {
  const int rank = shape.size();
  if (most.size() != rank) refuse("most", fmt::format("must have {} values", rank), fmt::format("has {}", most.size()));
  if (!spacing.empty() && static_cast<int>(spacing.size()) != rank) {
    refuse("spacing", fmt::format("must have {} values", rank), fmt::format("has {}", spacing.size()));
  }
  Extents chosen = Extents::filled(rank, axes.empty() ? 1 : 0);
  for (const index_t a : axes) {
    const index_t axis = a < 0 ? a + rank : a;
    if (axis < 0 || axis >= rank) {
      refuse("axes", fmt::format("must be {} to {}", -rank, rank - 1), fmt::format("has {}", a));
    }
    chosen[static_cast<int>(axis)] = 1;
  }
  std::vector<double> apart = spacing.empty() ? std::vector<double>(static_cast<std::size_t>(rank), 1) : spacing;
  for (int d = 0; d < rank; ++d) {
    if (most[d] < 1) refuse("most", "must be >= 1", fmt::format("axis {} has {}", d, most[d]));
    if (!(apart[static_cast<std::size_t>(d)] > 0) || !std::isfinite(apart[static_cast<std::size_t>(d)])) {
      refuse("spacing", "must be > 0 and finite", fmt::format("axis {} has {}", d, apart[static_cast<std::size_t>(d)]));
    }
  }
  Extents now = shape;
  std::vector<Extents> factors;
  for (;;) {
    bool large = false;
    double least = std::numeric_limits<double>::infinity();
    for (int d = 0; d < rank; ++d) {
      if (chosen[d] == 0 || now[d] <= 1) continue;
      large = large || now[d] > most[d];
      least = std::min(least, apart[static_cast<std::size_t>(d)]);
    }
    if (!large) return factors;
    Extents step;
    for (int d = 0; d < rank; ++d) {
      const double distance = apart[static_cast<std::size_t>(d)];
      // The least always: what was doubled may be infinite.
      const bool halves = chosen[d] != 0 && now[d] > 1 && (distance < 2 * least || distance == least);
      step.push_back(halves ? 2 : 1);
      now[d] = ceil_div(now[d], step[d]);
      apart[static_cast<std::size_t>(d)] *= static_cast<double>(step[d]);
    }
    factors.push_back(step);
  }
}

LevelCoordinates level_coordinates(Op op, const PyramidLevel& level, const LevelCoordinates& base) {
  LevelCoordinates here;
  for (int d = 0; d < level.factor.size(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    const double scale = base.scale.empty() ? 1 : base.scale.at(at);
    const double translation = base.translation.empty() ? 0 : base.translation.at(at);
    const auto factor = static_cast<double>(level.factor[d]), lead = static_cast<double>(level.lead[d]);
    const double centre = op == Op::first ? 0 : (factor - 1) / 2;
    here.scale.push_back(scale * factor);
    here.translation.push_back(translation + scale * (centre - lead));
  }
  return here;
}

bool PyramidSource::is_uniform(const Extents&, const Extents&, void*) { return false; }

}  // namespace oriel
