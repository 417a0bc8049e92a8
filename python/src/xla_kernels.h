// What the handlers for CUDA devices need beside the library: elements of dense arrays on a device, put on a stream.
#pragma once

#include "oriel/types.h"

namespace oriel::python {

/// to[i] = from[places[i]], or 0 where a place is negative; elements of `bytes` bytes (1, 2, 4 or 8).
void pick_on_device(const index_t* places, index_t n, const void* from, void* to, index_t bytes, void* stream);

/// to[i] = from[i]: places that are known to fit.
void narrow_on_device(const index_t* from, index_t n, std::int32_t* to, void* stream);

/// Integers of 8 to 32 bits as 64-bit ones, and back by their low bits.
void widen_on_device(const void* from, Dtype dtype, index_t n, std::int64_t* to, void* stream);
void wrap_on_device(const std::int64_t* from, index_t n, void* to, index_t bytes, void* stream);

/// Memory of a stream's own, in the stream's order.
class DeviceScratch {
 public:
  DeviceScratch(index_t bytes, void* stream);
  ~DeviceScratch();
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  template <class T>
  T* data() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  void* stream_;
};

}  // namespace oriel::python
