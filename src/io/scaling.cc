#include "io/scaling.h"

#include "oriel/problem.h"

namespace oriel::io {

std::optional<Scaling> scaling_of(const std::string& name, int axis) {
  constexpr double half = 0.5;
  try {
    const Problem problem = parse_problem(name);
    const int at = axis - (problem.output_shape.size() - problem.shape.size());
    for (int i = 0; i < problem.pooled; ++i) {
      if (problem.axes[static_cast<std::size_t>(i)] != at) continue;
      const Axis& a = problem.axis[static_cast<std::size_t>(i)];
      if (a.adaptive) return Scaling{.step = static_cast<double>(a.in) / static_cast<double>(a.out)};
      const auto step = static_cast<double>(a.stride), span = static_cast<double>((a.kernel - 1) * a.dilation + 1);
      return Scaling{.step = step, .shift = static_cast<double>(a.first) + half * (span - step)};
    }
    return Scaling{};
  } catch (const Error&) {
    return std::nullopt;
  }
}

Scaling of_middles(Scaling s) {
  constexpr double half = 0.5;
  s.shift += half * (s.step - 1);
  return s;
}

std::optional<Scaling> scaling_of_middles(const std::string& name, int axis) {
  std::optional<Scaling> scaling = scaling_of(name, axis);
  if (!scaling) return scaling;
  *scaling = of_middles(*scaling);
  const Problem problem = parse_problem(name);
  const int at = axis - (problem.output_shape.size() - problem.shape.size());
  for (int i = 0; i < problem.pooled; ++i) {
    const Axis& a = problem.axis[static_cast<std::size_t>(i)];
    if (problem.axes[static_cast<std::size_t>(i)] == at && problem.pool.op == Op::first && !a.adaptive)
      scaling->shift = static_cast<double>(a.first);
  }
  return scaling;
}

}  // namespace oriel::io
