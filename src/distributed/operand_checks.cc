#include "distributed/operand_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "distributed/schedule.h"

namespace oriel::distributed {
namespace {

// A call that computes nothing, but finds what is wrong with a mask and weights beside these inputs.
void check_call(const Problem& problem, const ConstTensor& x, const ConstTensor& mask, const ConstTensor& weights) {
  Problem nothing = problem;
  nothing.shape = x.shape;
  nothing.output_shape = Extents::filled(x.rank(), 0);
  forward(nothing,
          {.x = x, .y = Tensor(nullptr, problem.result, nothing.output_shape), .mask = mask, .weights = weights},
          {.threads = 1});
}

}  // namespace

void fail(const Problem& problem, Pass pass, std::string argument, std::string allowed, std::string value) {
  throw Error(Error::Fields{.function = fmt::format("distributed {}_pool {}", name(problem.pool.op), name(pass)),
                            .argument = std::move(argument),
                            .allowed = std::move(allowed),
                            .value = std::move(value)});
}

void OperandChecks::fits(const char* what, const ConstTensor& t, Dtype dtype, const Box& box) const {
  if (t.device != Device::cpu) fail(problem, pass, what, "must be on the CPU", "is on a CUDA device");
  if (t.dtype != dtype) {
    fail(problem, pass, what, fmt::format("must have dtype {}", name(dtype)), fmt::format("has {}", name(t.dtype)));
  }
  if (!(t.shape == box.shape())) {
    fail(problem, pass, what, fmt::format("must have the shape of rank {}'s part, {}", rank, to_string(box.shape())),
         "has " + to_string(t.shape));
  }
  if (t.pitch.size() != t.shape.size()) {
    fail(problem, pass, what, "must have one pitch per axis",
         fmt::format("has {} for {} axes", t.pitch.size(), t.shape.size()));
  }
  if (t.data == nullptr && !box.empty()) {
    fail(problem, pass, what, fmt::format("must point to its {} elements", element_count(t.shape)), "its data is null");
  }
}

void OperandChecks::fits_and_is_writable(const char* what, const Tensor& t, Dtype dtype, const Box& box) const {
  fits(what, t, dtype, box);
  if (may_self_overlap(t)) {
    fail(problem, pass, what, "is written, so its elements must not share memory",
         fmt::format("its pitches {} make them", to_string(t.pitch)));
  }
}

void OperandChecks::apart(const char* a_name, const ConstTensor& a, const char* b_name, const ConstTensor& b) const {
  if (may_overlap(a, b)) {
    fail(problem, pass, fmt::format("{} and {}", a_name, b_name), "must not share memory", "they overlap");
  }
}

void OperandChecks::fit_beside(const Beside& beside, const Operands& operands) const {
  const auto given = [&](const char* what, const ConstTensor& t, bool wanted) {
    if (t.given() == wanted) return;
    fail(problem, pass, what, wanted ? "must be given" : "must be empty",
         fmt::format("the pool was made {} {}", wanted ? "with" : "without", what));
  };
  given("mask", operands.mask, !beside.mask.empty());
  given("weights", operands.weights, !beside.weights.empty());
  if (operands.mask.given()) {
    const Dtype dtype = operands.mask.dtype;
    if (dtype != Dtype::boolean && dtype != Dtype::u8)
      fail(problem, pass, "mask", "must have dtype bool or u8", fmt::format("has {}", name(dtype)));
    fits("mask", operands.mask, dtype, beside_box(beside.mask, problem.shape, inputs));
  }
  if (!operands.weights.given()) return;
  fits("weights", operands.weights, beside.weights_dtype, beside_box(beside.weights, problem.shape, inputs));
  check_call(problem, operands.x, operands.mask, operands.weights);
}

void OperandChecks::beside_apart(const Operands& operands, const char* name, const ConstTensor& written) const {
  if (operands.mask.given()) apart("mask", operands.mask, name, written);
  if (operands.weights.given()) apart("weights", operands.weights, name, written);
}

void check_beside(const Problem& problem, const Beside& beside) {
  const auto fits = [&](const char* what, const Extents& shape) {
    bool same = shape.size() == problem.shape.size();
    for (int d = 0; same && d < shape.size(); ++d) {
      const auto end = problem.axes.begin() + problem.pooled;
      const bool pooled = std::find(problem.axes.begin(), end, d) != end;
      same = shape[d] == problem.shape[d] || (shape[d] == 1 && !pooled);
    }
    if (same) return;
    throw Error(Error::Fields{
        .function = fmt::format("distributed {}_pool", name(problem.pool.op)),
        .argument = what,
        .allowed =
            fmt::format("must have the shape of x, {}, or 1 along axes that are not pooled", to_string(problem.shape)),
        .value = "has " + to_string(shape)});
  };
  if (!beside.mask.empty()) fits("mask", beside.mask);
  if (!beside.weights.empty()) fits("weights", beside.weights);
  const Extents none = Extents::filled(problem.shape.size(), 0);
  const auto empty = [&](Dtype dtype, bool given) { return given ? ConstTensor(nullptr, dtype, none) : ConstTensor(); };
  check_call(problem, empty(problem.dtype, true), empty(Dtype::u8, !beside.mask.empty()),
             empty(beside.weights_dtype, !beside.weights.empty()));
}

}  // namespace oriel::distributed
