// Pools, gradients and unpooling of the C interface.
#include "oriel/pool.h"

#include "c/arguments.h"

namespace oriel::c {
namespace {

constexpr const char* kForward = "oriel_forward";
constexpr const char* kBackward = "oriel_backward";
constexpr const char* kForwardMasked = "oriel_forward_masked";
constexpr const char* kBackwardMasked = "oriel_backward_masked";
constexpr const char* kUnpool = "oriel_unpool";

// How a call runs; it must stay where it is, since `options` points to the executor.
class Run {
 public:
  Run(const char* function, const oriel_run* given) {
    if (given == nullptr) return;
    const oriel_run run = read_struct(function, "run", given);
    check_reserved(function, "run->reserved", run.reserved);
    check_reserved(function, "run->reserved2", run.reserved2);
    options_ = {.threads = run.threads, .stream = run.stream};
    if (run.executor == nullptr) return;
    executor_ = {.threads = run.executor_threads, .run = run.executor, .context = run.executor_context};
    options_.executor = &executor_;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Options& options() const { return options_; }

 private:
  Executor executor_;
  Options options_;
};

Extents axes_of(std::int32_t pooled, const std::int64_t* axes) {
  if (pooled < 0 || pooled > kMaxPooledAxes) {
    refuse(kUnpool, "pooled", "must be 0 to " + std::to_string(kMaxPooledAxes), "is " + std::to_string(pooled));
  }
  return pooled == 0 ? Extents() : list_of(kUnpool, "axes", axes, pooled);
}

}  // namespace
}  // namespace oriel::c

using namespace oriel::c;

oriel_status oriel_forward(const oriel_problem* problem, const oriel_tensor* x, const oriel_tensor* y,
                           const oriel_tensor* indices, int32_t space, const oriel_run* run) {
  return guarded([&] {
    oriel::forward(problem_of(kForward, problem),
                   {.x = tensor_of(kForward, "x", x),
                    .y = tensor_of(kForward, "y", y),
                    .indices = optional_tensor_of(kForward, "indices", indices),
                    .space = space_of_number(kForward, space)},
                   Run(kForward, run).options());
  });
}

oriel_status oriel_backward(const oriel_problem* problem, const oriel_tensor* x, const oriel_tensor* dy,
                            const oriel_tensor* indices, int32_t space, const oriel_tensor* dx, const oriel_run* run) {
  return guarded([&] {
    oriel::backward(problem_of(kBackward, problem),
                    {.x = optional_tensor_of(kBackward, "x", x),
                     .dy = tensor_of(kBackward, "dy", dy),
                     .indices = optional_tensor_of(kBackward, "indices", indices),
                     .space = space_of_number(kBackward, space),
                     .dx = tensor_of(kBackward, "dx", dx)},
                    Run(kBackward, run).options());
  });
}

oriel_status oriel_forward_masked(const oriel_problem* problem, const oriel_tensor* x, const oriel_tensor* mask,
                                  const oriel_tensor* weights, const oriel_tensor* y, const oriel_tensor* indices,
                                  int32_t space, const oriel_run* run) {
  return guarded([&] {
    oriel::forward(problem_of(kForwardMasked, problem),
                   {.x = tensor_of(kForwardMasked, "x", x),
                    .y = tensor_of(kForwardMasked, "y", y),
                    .indices = optional_tensor_of(kForwardMasked, "indices", indices),
                    .space = space_of_number(kForwardMasked, space),
                    .mask = optional_tensor_of(kForwardMasked, "mask", mask),
                    .weights = optional_tensor_of(kForwardMasked, "weights", weights)},
                   Run(kForwardMasked, run).options());
  });
}

oriel_status oriel_backward_masked(const oriel_problem* problem, const oriel_tensor* x, const oriel_tensor* mask,
                                   const oriel_tensor* weights, const oriel_tensor* dy, const oriel_tensor* dx,
                                   const oriel_run* run) {
  return guarded([&] {
    oriel::backward(problem_of(kBackwardMasked, problem),
                    {.x = tensor_of(kBackwardMasked, "x", x),
                     .dy = tensor_of(kBackwardMasked, "dy", dy),
                     .dx = tensor_of(kBackwardMasked, "dx", dx),
                     .mask = optional_tensor_of(kBackwardMasked, "mask", mask),
                     .weights = optional_tensor_of(kBackwardMasked, "weights", weights)},
                    Run(kBackwardMasked, run).options());
  });
}

oriel_status oriel_unpool(int32_t pooled, const int64_t* axes, const oriel_tensor* y, const oriel_tensor* indices,
                          int32_t space, const oriel_tensor* x, const oriel_run* run) {
  return guarded([&] {
    oriel::unpool(axes_of(pooled, axes),
                  {.y = tensor_of(kUnpool, "y", y),
                   .indices = tensor_of(kUnpool, "indices", indices),
                   .space = space_of_number(kUnpool, space),
                   .x = tensor_of(kUnpool, "x", x)},
                  Run(kUnpool, run).options());
  });
}
