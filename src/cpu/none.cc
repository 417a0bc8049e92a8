// A build without the CPU backend: for machines that have nvcc and CMake alone.
#include "cpu/run.h"
#include "cpu/runtime/executor.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/targets.h"

namespace oriel::cpu {
namespace {
[[noreturn]] void refuse() { throw Error("cpu: this build pools on CUDA devices only; build with ORIEL_CPU=ON"); }
}  // namespace

ExecutorScope::ExecutorScope(const Executor* executor) : before_(executor) {}
ExecutorScope::~ExecutorScope() = default;
int default_threads() { return 1; }
std::vector<std::string> supported_targets() { return {}; }
std::span<const Kernels> supported_kernels() { return {}; }
std::string active_target() { return "none"; }
void set_target(std::string_view) { refuse(); }
void run(const Problem&, const ConstTensor&, const Tensor&, const Tensor*, IndexSpace, int) { refuse(); }
void run_user(const Problem&, const detail::ErasedReduction&, const ConstTensor&, const Tensor&, int) { refuse(); }
Choice choice_for(const Problem&) { refuse(); }
bool codes_pay(const Problem&) { return false; }
void run_sum_backward(const Problem&, const ConstTensor*, const ConstTensor&, const Tensor&, int) { refuse(); }
void run_extremum_backward(const Problem&, const ConstTensor&, const ConstTensor&, const Tensor&, int) { refuse(); }
void run_indexed_backward(const Problem&, const ConstTensor&, const ConstTensor&, IndexSpace, const Tensor&, int) {
  refuse();
}
index_t first_bad_weight(const ConstTensor&, const Pool&) { refuse(); }
void run_statistic(const Statistic&, int) { refuse(); }
void run_statistic_backward(const StatisticGradient&, int) { refuse(); }
void run_unpool(const Problem&, const ConstTensor&, const ConstTensor&, IndexSpace, const Tensor&, int) { refuse(); }

}  // namespace oriel::cpu
