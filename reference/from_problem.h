// Fills the reference's plain lists from a Problem: what was asked, not what the library made of it.
#pragma once

#include "oriel/problem.h"
#include "reference/reference.h"

namespace oriel::reference {

inline std::optional<long double> exactly(const std::optional<Scalar>& value) {
  if (!value) return std::nullopt;
  return std::visit([](auto v) { return static_cast<long double>(v); }, *value);
}

inline Pooling from_problem(const Problem& problem) {
  const Pool& pool = problem.pool;
  Pooling out;
  out.op = pool.op;
  out.windows = pool.windows.kind == WindowKind::uniform    ? Windows::uniform
                : pool.windows.kind == WindowKind::adaptive ? Windows::adaptive
                                                            : Windows::global;
  out.pads = pool.windows.padding == Padding::given        ? Pads::given
             : pool.windows.padding == Padding::same_upper ? Pads::same_upper
                                                           : Pads::same_lower;
  out.shape.assign(problem.shape.begin(), problem.shape.end());
  const auto value = [](const Extents& list, int i, index_t otherwise) {
    return list.empty() ? otherwise : list[list.size() == 1 ? 0 : i];
  };
  for (int i = 0; i < problem.pooled; ++i) {
    out.axes.push_back(problem.axes[static_cast<std::size_t>(i)]);
    out.kernel.push_back(value(pool.windows.kernel, i, 1));
    out.stride.push_back(value(pool.windows.stride, i, out.kernel.back()));
    out.dilation.push_back(value(pool.windows.dilation, i, 1));
    out.pad_lo.push_back(value(pool.windows.pad_lo, i, 0));
    out.pad_hi.push_back(value(pool.windows.pad_hi, i, out.pad_lo.back()));
    out.output_size.push_back(value(pool.windows.output_size, i, 1));
  }
  out.ceil_mode = pool.windows.ceil_mode;
  out.count_include_pad = pool.count_include_pad;
  out.divisor = pool.divisor;
  out.norm = pool.norm;
  out.omit_nan = pool.nan == NanPolicy::omit;
  out.footprint = pool.footprint.taps;
  if (pool.windows.kernel.empty() && !pool.footprint.empty()) {
    out.kernel.assign(pool.footprint.shape.begin(), pool.footprint.shape.end());
    if (pool.windows.stride.empty()) out.stride = out.kernel;
  }
  out.nodata = exactly(pool.nodata);
  out.fill = exactly(pool.fill);
  out.ignore = exactly(pool.ignore);
  out.min_count = pool.min_count;
  out.min_fraction = pool.min_fraction;
  out.result = pool.result_dtype;
  out.q = pool.q;
  out.rank = pool.rank;
  out.method = static_cast<Method>(pool.method);
  out.ties = static_cast<Ties>(pool.tie);
  out.ddof = pool.ddof;
  out.sharpness = pool.sharpness;
  out.sum_of_exponentials = pool.sum_of_exponentials;
  return out;
}

}  // namespace oriel::reference
