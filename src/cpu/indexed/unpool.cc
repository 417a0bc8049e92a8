// Unpooling where an index leads to its place by one multiplication: dense planes, with their channels before or after.
#include "cpu/indexed/unpool.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kLeastLanes = 16;  // that one task takes beside each other

// The pitch of the innermost pooled axis when all of them are one run with that pitch, or 0, as where it is 0.
index_t run_pitch(const Problem& p, const Extents& shape, const Extents& pitch) {
  index_t step = 1, wanted = 0;
  bool first = true;
  for (int a = p.pooled - 1; a >= 0; --a) {
    const int d = p.axes[static_cast<std::size_t>(a)];
    if (shape[d] == 1) continue;
    if (std::exchange(first, false)) step = wanted = pitch[d];
    if (pitch[d] != wanted) return 0;
    wanted *= shape[d];
  }
  return step;
}

// The planes of a call: their places in the tensors, and what their indices count from.
struct Planes {
  Extents axes;  // outside planes and lanes
  int lane_axis = -1;
  index_t count = 1;
  index_t lanes = 1;
  index_t in = 1, out = 1;  // places and outputs of a plane
  index_t x_step = 1, y_step = 1, index_step = 1;

  struct Offsets {
    index_t x = 0, y = 0, index = 0;
    std::int64_t origin = 0;
  };
};

Planes::Offsets locate(const Planes& planes, index_t plane, const ConstTensor& y, const ConstTensor& index,
                       IndexSpace space, const Tensor& x) {
  Planes::Offsets at;
  const Extents step = dense_pitch(x.shape);
  for (int i = planes.axes.size() - 1; i >= 0; --i) {
    const int d = static_cast<int>(planes.axes[i]);
    const index_t c = plane % x.shape[d];
    plane /= x.shape[d];
    at.x += c * x.pitch[d];
    at.y += c * y.pitch[d];
    at.index += c * index.pitch[d];
    if (space == IndexSpace::tensor) at.origin += c * step[d];
  }
  return at;
}

bool plan(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space, const Tensor& x,
          Planes& planes) {
  std::array<bool, kMaxRank> pooled{};
  for (int a = 0; a < problem.pooled; ++a)
    pooled[static_cast<std::size_t>(problem.axes[static_cast<std::size_t>(a)])] = true;
  planes.x_step = run_pitch(problem, x.shape, x.pitch);
  planes.y_step = run_pitch(problem, y.shape, y.pitch);
  planes.index_step = run_pitch(problem, index.shape, index.pitch);
  if (planes.x_step == 0 || planes.y_step == 0 || planes.index_step == 0) return false;
  if (space == IndexSpace::tensor && run_pitch(problem, x.shape, dense_pitch(x.shape)) != 1) return false;
  for (int d = 0; d < x.rank(); ++d) {
    if (pooled[static_cast<std::size_t>(d)]) {
      planes.in *= x.shape[d];
      planes.out *= y.shape[d];
    } else if (planes.lane_axis < 0 && x.shape[d] > 1 && space == IndexSpace::plane && x.pitch[d] == 1 &&
               y.pitch[d] == 1 && index.pitch[d] == 1) {
      planes.lane_axis = d;
      planes.lanes = x.shape[d];
    } else {
      planes.axes.push_back(d);
      planes.count *= x.shape[d];
    }
  }
  return true;
}

// Whether every index is -1 or a place of its plane.
bool all_good(const Planes& planes, const std::int64_t* index, std::int64_t origin) {
  std::uint64_t bad = 0;
  const std::uint64_t places = static_cast<std::uint64_t>(planes.in), from = static_cast<std::uint64_t>(origin);
  const auto look = [&](const std::int64_t* row, index_t n) {
    for (index_t i = 0; i < n; ++i) {
      bad |= static_cast<std::uint64_t>((static_cast<std::uint64_t>(row[i]) - from >= places) & (row[i] != -1));
    }
  };
  if (planes.index_step == planes.lanes) {
    look(index, planes.out * planes.lanes);
  } else {
    for (index_t o = 0; o < planes.out; ++o) look(index + o * planes.index_step, planes.lanes);
  }
  return bad == 0;
}

// Lanes [begin, end) of a plane; T is any type of the element's size.
template <class T>
void fill_plane(const Planes& planes, Range lanes, const T* y, const std::int64_t* index, std::int64_t origin, T* x) {
  if (planes.x_step == planes.lanes && lanes.size() == planes.lanes) {
    std::memset(x, 0, static_cast<std::size_t>(planes.in * planes.lanes) * sizeof(T));
  } else {
    for (index_t i = 0; i < planes.in; ++i) {
      for (index_t l = lanes.begin; l < lanes.end; ++l) x[i * planes.x_step + l] = T{0};
    }
  }
  for (index_t o = 0; o < planes.out; ++o) {
    const std::int64_t* places = index + o * planes.index_step;
    const T* values = y + o * planes.y_step;
    for (index_t l = lanes.begin; l < lanes.end; ++l) {
      if (places[l] != -1) x[(places[l] - origin) * planes.x_step + l] = values[l];
    }
  }
}

template <class T>
void fill(const Planes& planes, const ConstTensor& y, const ConstTensor& index, IndexSpace space, const Tensor& x,
          int threads) {
  // Few planes: their lanes are shared among threads.
  const index_t wanted = threads == 1 ? 1 : default_threads() / std::max<index_t>(1, planes.count);
  const index_t groups = std::clamp<index_t>(wanted, 1, std::max<index_t>(1, planes.lanes / kLeastLanes));
  const index_t width = (planes.lanes + groups - 1) / groups;
  const index_t bytes = planes.in * width * static_cast<index_t>(sizeof(T));
  parallel_for(planes.count * groups, bytes, threads, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      const Planes::Offsets at = locate(planes, i / groups, y, index, space, x);
      const index_t lane = i % groups * width;
      fill_plane(planes, {lane, std::min(planes.lanes, lane + width)}, static_cast<const T*>(y.data) + at.y,
                 static_cast<const std::int64_t*>(index.data) + at.index, at.origin, static_cast<T*>(x.data) + at.x);
    }
  });
}

}  // namespace

bool unpool_dense(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space,
                  const Tensor& x, int threads) {
  Planes planes;
  if (!plan(problem, y, index, space, x, planes)) return false;
  std::atomic<bool> good{true};
  const index_t index_bytes = planes.out * planes.lanes * static_cast<index_t>(sizeof(std::int64_t));
  parallel_for(planes.count, index_bytes, threads, [&](index_t begin, index_t end) {
    for (index_t plane = begin; plane < end && good.load(std::memory_order_relaxed); ++plane) {
      const Planes::Offsets at = locate(planes, plane, y, index, space, x);
      const auto* places = static_cast<const std::int64_t*>(index.data) + at.index;
      if (!all_good(planes, places, at.origin)) good.store(false, std::memory_order_relaxed);
    }
  });
  if (!good.load()) return false;
  switch (size_bytes(x.dtype)) {
    case 1:
      fill<std::uint8_t>(planes, y, index, space, x, threads);
      break;
    case 2:
      fill<std::uint16_t>(planes, y, index, space, x, threads);
      break;
    case 4:
      fill<std::uint32_t>(planes, y, index, space, x, threads);
      break;
    default:
      fill<std::uint64_t>(planes, y, index, space, x, threads);
  }
  return true;
}

}  // namespace oriel::cpu
