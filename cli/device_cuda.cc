#include <cuda_runtime.h>
#include <fmt/format.h>

#include "cli/device.h"

namespace oriel::cli {
namespace {

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw Error(fmt::format("cuda: {} failed: {} ({})", call, cudaGetErrorString(error), cudaGetErrorName(error)));
}

}  // namespace

std::string device_name() {
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return fmt::format("{}, {} multiprocessors", properties.name, properties.multiProcessorCount);
}

void wait_for_device() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes_ == 0) return;
  void* data = nullptr;
  check(cudaMalloc(&data, bytes_), "cudaMalloc");
  data_ = std::shared_ptr<void>(data, [](void* p) { cudaFree(p); });
}

void DeviceMemory::copy_from_host(const void* from) const {
  if (bytes_ > 0) check(cudaMemcpy(data(), from, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
}
void DeviceMemory::copy_to_host(void* to) const {
  if (bytes_ > 0) check(cudaMemcpy(to, data(), bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
}
void DeviceMemory::begin_copy_from(const DeviceMemory& from) const {
  if (bytes_ > 0)
    check(cudaMemcpyAsync(data(), from.data(), bytes_, cudaMemcpyDeviceToDevice, nullptr), "cudaMemcpyAsync");
}

namespace {

std::size_t bytes_of(const Tensor& t) {  // of a tensor that a problem does not have: none
  return t.data == nullptr ? 0 : static_cast<std::size_t>(element_count(t.shape) * size_bytes(t.dtype));
}

}  // namespace

DeviceTensor::DeviceTensor(const io::Buffer& host)
    : host_(host),
      memory_(bytes_of(host.view)),
      view_(memory_.data(), host.view.dtype, host.view.shape, host.view.pitch, Device::cuda) {
  memory_.copy_from_host(host_.view.data);
}

}  // namespace oriel::cli
