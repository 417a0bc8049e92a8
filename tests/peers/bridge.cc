// A test's way from Python to the entry points: plain C functions that take a problem name and dense row-major arrays.
#include <cstring>
#include <string>

#include "oriel/pool.h"

namespace {

using namespace oriel;

thread_local std::string last_error;

template <class F>
int guarded(F call) {
  try {
    call();
    return 0;
  } catch (const std::exception& e) {
    last_error = e.what();
    return 1;
  }
}

}  // namespace

extern "C" {

ORIEL_API const char* bridge_error() { return last_error.c_str(); }

// The output's shape into `shape` (16 places); its rank is the input's.
ORIEL_API int bridge_output_shape(const char* name, std::int64_t* shape) {
  return guarded([&] {
    for (index_t extent : parse_problem(name).output_shape) *shape++ = extent;
  });
}

ORIEL_API int bridge_forward(const char* name, const void* x, void* y, std::int64_t* indices, int space) {
  return guarded([&] {
    const Problem p = parse_problem(name);
    const ConstTensor from(x, p.dtype, p.shape);
    const Tensor to(y, p.dtype, p.output_shape);
    if (indices == nullptr)
      forward(p.pool, {.x = from, .y = to});
    else
      forward(
          p.pool,
          {.x = from, .y = to, .indices = Tensor(indices, p.output_shape), .space = static_cast<IndexSpace>(space)});
  });
}

ORIEL_API int bridge_backward(const char* name, const void* x, const void* dy, void* dx) {
  return guarded([&] {
    const Problem p = parse_problem(name);
    backward(p.pool, {.x = ConstTensor(x, p.dtype, p.shape),
                      .dy = ConstTensor(dy, p.dtype, p.output_shape),
                      .dx = Tensor(dx, p.dtype, p.shape)});
  });
}

// x, of the name's dtype and shape, from y and indices of `rank` extents `y_shape`.
ORIEL_API int bridge_unpool(const char* name, const std::int64_t* y_shape, const void* y, const std::int64_t* indices,
                            int space, void* x) {
  return guarded([&] {
    const Problem p = parse_problem(name);
    Extents shape, axes;
    for (int a = 0; a < p.shape.size(); ++a) shape.push_back(y_shape[a]);
    for (int a = 0; a < p.pooled; ++a) axes.push_back(p.axes[static_cast<std::size_t>(a)]);
    unpool(axes, {.y = ConstTensor(y, p.dtype, shape),
                  .indices = ConstTensor(indices, shape),
                  .space = static_cast<IndexSpace>(space),
                  .x = Tensor(x, p.dtype, p.shape)});
  });
}

}  // extern "C"
