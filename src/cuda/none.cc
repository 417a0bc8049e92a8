// A build without the CUDA backend.
#include "cuda/run.h"

namespace oriel::cuda {
namespace {
[[noreturn]] void refuse() { throw Error("cuda: this build has no CUDA backend; build with ORIEL_CUDA=ON and nvcc"); }
}  // namespace

bool built() { return false; }
void check_pointer(const std::string& what, const void*, Dtype) {
  throw Error(what + " is on a CUDA device, but this build runs on the CPU only");
}
void run(const Problem&, const ConstTensor&, const Tensor&, const Tensor*, IndexSpace, void*) { refuse(); }
void run_sum_backward(const Problem&, const ConstTensor*, const ConstTensor&, const Tensor&, void*) { refuse(); }
void run_extremum_backward(const Problem&, const ConstTensor&, const ConstTensor&, const Tensor&, void*) { refuse(); }
void run_indexed_backward(const Problem&, const ConstTensor&, const ConstTensor&, IndexSpace, const Tensor&, void*) {
  refuse();
}
void run_unpool(const Problem&, const ConstTensor&, const ConstTensor&, IndexSpace, const Tensor&, void*) { refuse(); }
const char* kernel_of(const Problem&, const ConstTensor&, const Tensor&, const Tensor*) { return "none"; }

}  // namespace oriel::cuda
