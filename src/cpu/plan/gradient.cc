#include "cpu/plan/gradient.h"

namespace oriel::cpu {

const RowLayout& Gradient::layout() const {
  if (!known_layout) {
    Tensor dy_pitches = dx, index_pitches = dx;  // a layout asks tensors of outputs for nothing but pitches
    dy_pitches.pitch = dy.pitch;
    if (index != nullptr) index_pitches.pitch = index->pitch;
    known_layout = make_layout(problem, problem.axis, x != nullptr ? *x : ConstTensor(dx), dy_pitches, &index_pitches,
                               index != nullptr ? space : IndexSpace::window);
  }
  return *known_layout;
}

const RowLayout& Gradient::adjoint_layout() const {
  if (!known_adjoint_layout) {
    std::array<Axis, kMaxPooledAxes> adjoint{};
    for (std::size_t a = 0; a < static_cast<std::size_t>(problem.pooled); ++a) adjoint[a] = problem.axis[a].adjoint();
    known_adjoint_layout = make_layout(problem, adjoint, dy, dx, nullptr, IndexSpace::plane);
  }
  return *known_adjoint_layout;
}

bool depends_on_inputs(const Problem& problem) {
  return is_floating(problem.dtype) && (problem.pool.op == Op::lp || problem.pool.nan == NanPolicy::omit);
}

}  // namespace oriel::cpu
