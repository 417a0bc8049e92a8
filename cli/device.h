// The CUDA device of `oriel bench --device cuda`: memory on it, copies, waiting. Two files define this: device_cuda.cc,
// and device_none.cc for builds without the backend, where everything throws.
#pragma once

#include <memory>
#include <string>

#include "io/array.h"

namespace oriel::cli {

/// The device's name and its multiprocessors. Throws Error if there is no device or no backend.
std::string device_name();

/// Returns when everything that was put on the device is done. Throws Error with CUDA's text.
void wait_for_device();

/// Bytes on the device.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);

  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  void copy_from_host(const void* from) const;
  void copy_to_host(void* to) const;
  /// Begins to copy all of `from`, which is as large, and returns.
  void begin_copy_from(const DeviceMemory& from) const;

 private:
  std::shared_ptr<void> data_;
  std::size_t bytes_;
};

/// A dense host tensor's twin on the device.
class DeviceTensor {
 public:
  explicit DeviceTensor(const io::Buffer& host);

  const Tensor& view() const { return view_; }
  /// Brings the elements to the host tensor.
  void fetch() const { memory_.copy_to_host(host_.view.data); }

 private:
  io::Buffer host_;
  DeviceMemory memory_;
  Tensor view_;
};

}  // namespace oriel::cli
