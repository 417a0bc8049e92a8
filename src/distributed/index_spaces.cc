#include "distributed/index_spaces.h"

#include <fmt/format.h>

#include "oriel/distributed/local_pool.h"

namespace oriel::distributed {
namespace {

constexpr index_t kMostListed = index_t{1} << 16;  // taps whose distances are listed

// How far, in indices, one place along each tensor axis goes.
Extents index_pitch(const Problem& problem, IndexSpace space) {
  if (space == IndexSpace::tensor) return dense_pitch(problem.shape);
  Extents pitch = Extents::filled(problem.shape.size(), 0);
  index_t step = 1;
  for (int a = problem.pooled - 1; a >= 0; --a) {
    const int d = problem.axes[static_cast<std::size_t>(a)];
    pitch[d] = step;
    step *= problem.shape[d];
  }
  return pitch;
}

}  // namespace

Translation::Translation(const Problem& problem, const Box& outputs, IndexSpace space)
    : problem_(problem), outputs_(outputs), pitch_(index_pitch(problem, space)) {
  for (int d = 0; d < pitch_.size(); ++d) {
    const Axis* axis = nullptr;
    for (int a = 0; a < problem.pooled; ++a) {
      const std::size_t i = static_cast<std::size_t>(a);
      if (problem.axes[i] == d) axis = &problem.axis[i];
    }
    base_.emplace_back();
    for (index_t o = outputs.begin[d]; o < outputs.end[d]; ++o) {
      base_.back().push_back((axis == nullptr ? o : axis->at(o, 0)) * pitch_[d]);
    }
  }
  for (index_t code = 0; problem.taps() <= kMostListed && code < problem.taps(); ++code) {
    distance_.push_back(distance(code));
  }
}

index_t Translation::distance(index_t code) const {
  if (code < static_cast<index_t>(distance_.size())) return distance_[static_cast<std::size_t>(code)];
  index_t sum = 0;
  for (int a = problem_.pooled - 1; a >= 0; --a) {
    const std::size_t i = static_cast<std::size_t>(a);
    const Axis& axis = problem_.axis[i];
    sum += (axis.at(0, code % axis.kernel) - axis.at(0, 0)) * pitch_[problem_.axes[i]];
    code /= axis.kernel;
  }
  return sum;
}

void Translation::run(const Box& part, const Tensor& places) const {
  if (part.empty()) return;
  const int last = places.rank() - 1;
  Extents at = part.begin;
  while (true) {
    index_t first = 0, offset = 0;
    for (int d = 0; d < last; ++d) {
      first += base(d, at[d]);
      offset += (at[d] - part.begin[d]) * places.pitch[d];
    }
    std::int64_t* place = static_cast<std::int64_t*>(places.data) + offset;
    for (index_t o = part.begin[last]; o < part.end[last]; ++o, place += places.pitch[last]) {
      if (*place >= 0) *place = first + base(last, o) + distance(*place);
    }
    int d = last - 1;
    for (; d >= 0 && ++at[d] == part.end[d]; --d) at[d] = part.begin[d];
    if (d < 0) return;
  }
}

void globalise(const HaloPlan& plan, const Box& outputs, const Tensor& places, IndexSpace space) {
  if (places.dtype != Dtype::i64 || !(places.shape == outputs.shape())) {
    throw Error(fmt::format("globalise: indices must be an i64 tensor of shape {}, but are {} of shape {}",
                            to_string(outputs.shape()), name(places.dtype), to_string(places.shape)));
  }
  if (space != IndexSpace::window) Translation(plan.problem(), outputs, space).run(outputs, places);
}

}  // namespace oriel::distributed
