// What an engine holds on a device: memory, a stream, events; given back with it.
#pragma once

#include <cuda_runtime.h>

#include "cuda/device/launch.cuh"

namespace oriel::nn::cuda {

/// `bytes` of the current device's memory; the Error where there is none says what they were for.
class DeviceMemory {
 public:
  DeviceMemory(index_t bytes, const char* what) {
    if (bytes <= 0) return;
    try {
      oriel::cuda::check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "cudaMalloc");
    } catch (const Error& e) {
      throw Error("unet: cannot allocate " + std::to_string(bytes) + " bytes of device memory for " + what + ": " +
                  e.what());
    }
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Sets all of it to zero, in the stream's order.
  void clear(index_t bytes, cudaStream_t stream) const {
    oriel::cuda::check(cudaMemsetAsync(data_, 0, static_cast<std::size_t>(bytes), stream), "cudaMemsetAsync");
  }
  float* at(index_t bytes) const { return reinterpret_cast<float*>(static_cast<std::byte*>(data_) + bytes); }

 private:
  void* data_ = nullptr;
};

/// A stream that does not wait for the default one.
class Stream {
 public:
  Stream() { oriel::cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { oriel::cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point of a stream's work.
class Event {
 public:
  Event() { oriel::cuda::check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) const {
    oriel::cuda::check(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
  }

  /// Milliseconds of the device since `earlier`; waits until it is reached.
  double since(const Event& earlier) const {
    float milliseconds = 0;
    oriel::cuda::check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    oriel::cuda::check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace oriel::nn::cuda
