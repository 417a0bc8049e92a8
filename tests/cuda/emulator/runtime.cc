// The runtime's calls: memory, errors, failures that tests ask for.
#include <map>
#include <memory>

#include "grid.h"
#include "memory.h"

namespace grid {

void forget_sectors();

namespace {
cudaError_t last_error = cudaSuccess;
int device_count = 2;
int current_device = 0;
std::map<std::string, cudaError_t>& asked() {
  static std::map<std::string, cudaError_t> a;
  return a;
}
}  // namespace

Options& options() {
  static Options o;
  return o;
}
Report& report() {
  static Report r;
  return r;
}
double& clock() {
  static double milliseconds = 0;
  return milliseconds;
}
void reset() {
  report() = Report{};
  forget_sectors();
}

void fail(const std::string& text) {
  std::vector<std::string>& failures = report().failures;
  if (failures.size() < 20) failures.push_back(text + where());
}

void fail_next(const char* call, cudaError_t error) { asked()[call] = error; }
void set_device_count(int count) { device_count = count; }

cudaError_t asked_failure(const char* call) {
  const auto it = asked().find(call);
  if (it == asked().end()) return device_count > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
  const cudaError_t error = it->second;
  asked().erase(it);
  return remember(error);
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace grid

using grid::asked_failure;

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchOutOfResources:
      return "cudaErrorLaunchOutOfResources";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = grid::last_error;
  grid::last_error = cudaSuccess;
  return error;
}

cudaError_t cudaGetDevice(int* device) {
  *device = grid::current_device;
  return asked_failure("cudaGetDevice");
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= grid::device_count) return grid::remember(cudaErrorInvalidDevice);
  grid::current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = grid::device_count;
  return asked_failure("cudaGetDeviceCount");
}

cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  if (const cudaError_t e = asked_failure("cudaMalloc"); e != cudaSuccess) return e;
  *p = grid::allocate(bytes, "cudaMalloc");
  return *p == nullptr && bytes != 0 ? grid::remember(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFree(void* p) {
  return p == nullptr || grid::release(p) ? cudaSuccess : grid::remember(cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t) {
  if (const cudaError_t e = asked_failure("cudaMallocAsync"); e != cudaSuccess) return e;
  *p = grid::allocate(bytes, "cudaMallocAsync");
  return *p == nullptr && bytes != 0 ? grid::remember(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }

cudaError_t cudaDeviceSynchronize() { return asked_failure("cudaDeviceSynchronize"); }

// Nothing is put off, so a stream is only told from others.
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static std::uintptr_t streams = 0;
  if (const cudaError_t e = asked_failure("cudaStreamCreateWithFlags"); e != cudaSuccess) return e;
  *stream = reinterpret_cast<cudaStream_t>(++streams);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return asked_failure("cudaStreamSynchronize"); }

// An event is the time at which it was recorded.
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  if (const cudaError_t e = asked_failure("cudaEventCreate"); e != cudaSuccess) return e;
  *event = reinterpret_cast<cudaEvent_t>(std::make_unique<double>(-1).release());
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::unique_ptr<double> owned(reinterpret_cast<double*>(event));
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *reinterpret_cast<double*>(event) = grid::clock();
  return asked_failure("cudaEventRecord");
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return asked_failure("cudaEventSynchronize"); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const double from = *reinterpret_cast<double*>(begin), to = *reinterpret_cast<double*>(end);
  if (from < 0 || to < 0) return grid::remember(cudaErrorInvalidValue);  // never recorded
  *milliseconds = static_cast<float>(to - from);
  return asked_failure("cudaEventElapsedTime");
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  if (const cudaError_t e = asked_failure("cudaMemsetAsync"); e != cudaSuccess) return e;
  if (bytes == 0) return cudaSuccess;
  std::memset(to, value, bytes);
  grid::mark_written(to, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t e = asked_failure("cudaMemcpy"); e != cudaSuccess) return e;
  std::memcpy(to, from, bytes);
  if (kind == cudaMemcpyHostToDevice) ++grid::report().copies_in;
  if (kind == cudaMemcpyDeviceToHost) ++grid::report().copies_out;
  if (kind != cudaMemcpyDeviceToHost) grid::mark_written(to, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  if (const cudaError_t e = asked_failure("cudaMemcpyAsync"); e != cudaSuccess) return e;
  return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"grid emulator", 1};
  return asked_failure("cudaGetDeviceProperties");
}
