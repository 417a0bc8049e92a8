#include "cpu/code_gradient/shape.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::array<index_t, kMaxPooledAxes> CodeShape::steps() const {
  std::array<index_t, kMaxPooledAxes> steps{};
  index_t step = 1;
  for (int a = axis.size() - 1; a >= 0; --a) {
    steps[at(a)] = step;
    step *= axis[at(a)].axis.kernel;
  }
  return steps;
}

index_t CodeShape::row_outputs() const {
  index_t n = lanes.n * planes;
  for (int a = outer(); a < axis.size(); ++a) n *= axis[at(a)].axis.out;
  return n;
}

bool operator==(const CodeShape& a, const CodeShape& b) {
  if (a.axis.size() != b.axis.size() || a.lanes.n != b.lanes.n || a.lanes.pitch != b.lanes.pitch || a.way != b.way ||
      a.planes != b.planes || a.vector != b.vector) {
    return false;
  }
  for (int i = 0; i < a.axis.size(); ++i) {
    if (!(a.axis[at(i)].axis == b.axis[at(i)].axis) || a.axis[at(i)].pitch != b.axis[at(i)].pitch) return false;
  }
  return true;
}

}  // namespace oriel::cpu
