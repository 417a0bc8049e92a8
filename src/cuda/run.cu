#include "cuda/run.h"

#include "cuda/device/launch.cuh"
#include "cuda/index.cuh"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

struct Way {
  const char* name;
  bool (*run)(const Forward&);
};

// The first that takes a call carries it out.
constexpr Way kWays[] = {
    {"strip", &strip_forward},  //
    {"lanes", &lanes_forward},  //
    {"lane columns", &lane_columns_forward},
    {"direct", &direct_forward},  //
    {"stream", &stream_forward},  //
    {"staged", &staged_forward},
    {"stream", &stream_any_forward},  //
    {"gather", &gather_forward},
};

const char* run_way(const Forward& call) {
  const Way* way = kWays;
  while (!way->run(call)) ++way;
  return way->name;
}

}  // namespace

bool built() { return true; }

void check_pointer(const std::string& what, const void* data, Dtype dtype) {
  if (data == nullptr) return;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes");
  if (attributes.type == cudaMemoryTypeUnregistered) {
    throw Error(what + " must point to device memory, but its pointer is one of the host (" +
                cudaGetErrorString(cudaErrorInvalidValue) + ")");
  }
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != device) {
    throw Error(what + " must be on the current CUDA device, " + std::to_string(device) + ", but is on device " +
                std::to_string(attributes.device));
  }
  const auto alignment = static_cast<std::uintptr_t>(size_bytes(dtype));
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
    throw Error(what + " must be aligned to its elements, " + std::to_string(alignment) +
                " bytes, but its address is " + std::to_string(reinterpret_cast<std::uintptr_t>(data) % alignment) +
                " beyond that");
  }
}

void run(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index, IndexSpace space,
         void* stream) {
  if (element_count(problem.output_shape) == 0) return;  // S11
  const Forward call{problem, x, y, index, index != nullptr ? index_kind(space, index->dtype) : IndexKind::none,
                     stream};
  run_way(call);
}

const char* kernel_of(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index) {
  return run_way({problem, x, y, index, index != nullptr ? IndexKind::plane : IndexKind::none, nullptr, true});
}

void run_sum_backward(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                      void* stream) {
  if (element_count(dx.shape) == 0) return;
  if (apart_gradient(problem, x, dy, dx, stream) || overlap_gradient(problem, x, dy, dx, stream)) return;
  if (lane_gradient(problem, nullptr, dy, dx, stream)) return;
  if (lane_columns_gradient(problem, dy, dx, stream) || staged_gradient(problem, dy, dx, stream)) return;
  collect_sum_gradient(problem, x, dy, dx, stream);
}

void run_extremum_backward(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                           void* stream) {
  if (element_count(dx.shape) == 0) return;
  if (apart_gradient(problem, &x, dy, dx, stream) || overlap_gradient(problem, &x, dy, dx, stream)) return;
  if ((problem.pool.op == Op::max || problem.pool.op == Op::min) && lane_apart_gradient(problem, x, dy, dx, stream)) {
    return;
  }
  const IndexKind kind = code_kind(problem.taps());
  const Scratch codes(element_count(problem.output_shape) * index_bytes(kind), stream);
  const Extents pitch = dense_pitch(problem.output_shape, memory_order(x.pitch));
  const Tensor found(codes.data(), Dtype::u8, problem.output_shape, pitch, Device::cuda);
  const Tensor none(nullptr, problem.dtype, problem.output_shape, found.pitch, Device::cuda);
  const ConstTensor index = found;
  const Forward find{problem, x, none, &found, kind, stream};
  run_way(find);
  if (kind == IndexKind::code8 && lane_gradient(problem, &index, dy, dx, stream)) return;
  if (chosen_gradient(problem, dy, index, kind, dx, stream)) return;
  collect_chosen_gradient(problem, problem.pool.op == Op::lp ? &x : nullptr, dy, index, kind, dx, stream);
}

void run_indexed_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                          const Tensor& dx, void* stream) {
  if (element_count(dx.shape) == 0) return;
  const IndexKind kind = index_kind(space, index.dtype);
  if (kind == IndexKind::code8 && lane_gradient(problem, &index, dy, dx, stream)) return;
  if (chosen_gradient(problem, dy, index, kind, dx, stream)) return;
  collect_chosen_gradient(problem, nullptr, dy, index, kind, dx, stream);
}

}  // namespace oriel::cuda
