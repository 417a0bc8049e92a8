// Tensors in device memory, real or emulated, placed in every way a caller may place them.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "pool/placed.h"

namespace oriel::test {

/// What the emulator wants to know and has to say; on a device all of it is empty.
struct Watch {
  void (*input)(void* p) = nullptr;                      // the memory at p is only read
  void (*output)(void* p, std::size_t bytes) = nullptr;  // nothing at p has been written yet
  void (*begin)(unsigned number) = nullptr;              // a call begins
  std::string (*verdict)() = nullptr;                    // what was wrong with it, or nothing
};
inline Watch watch;

inline void must(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// A tensor on the device, with exactly the memory that it spans.
class DeviceTensor {
 public:
  DeviceTensor(Dtype dtype, const Extents& shape, Layout layout, const void* elements, const Extents& order = {})
      : host_(dtype, shape, layout, elements, order), view_(host_.view()), span_(byte_span(view_)) {
    const std::size_t bytes = size();
    view_.device = Device::cuda;
    view_.data = nullptr;
    if (bytes == 0) return;
    must(cudaMalloc(&memory_, bytes), "cudaMalloc");
    must(cudaMemcpy(memory_, image(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    view_.data = static_cast<std::byte*>(memory_) - span_.begin;
    if (elements != nullptr && watch.input != nullptr) watch.input(memory_);
    if (elements == nullptr && watch.output != nullptr) watch.output(memory_, bytes);
  }
  ~DeviceTensor() { cudaFree(memory_); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const Tensor& view() const { return view_; }

  /// Brings the memory back; the elements are then in host(), as Placed gives them.
  const Placed& fetch() {
    if (size() != 0) must(cudaMemcpy(image(), memory_, size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host_;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(span_.end - span_.begin); }
  void* image() const { return static_cast<std::byte*>(host_.view().data) + span_.begin; }

  Placed host_;
  Tensor view_;
  ByteSpan span_;
  void* memory_ = nullptr;
};

}  // namespace oriel::test
