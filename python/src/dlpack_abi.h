// The C structures by which arrays are exchanged (DLPack 1.x, https://dmlc.github.io/dlpack): their layout is a fixed
// ABI. Debian's libdlpack-dev (0.6) is older than the versioned tensor and the exchange table.
#pragma once

#include <cstdint>

namespace oriel::python::dlpack {

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};
inline constexpr std::int32_t kCpu = 1, kCuda = 2;

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
inline constexpr std::uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6;

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: dense, row-major
  std::uint64_t byte_offset;
};

struct ManagedTensor {  // DLManagedTensorVersioned
  Version version;
  void* manager_context;
  void (*deleter)(ManagedTensor*);
  std::uint64_t flags;
  Tensor tensor;
};

using SetError = void (*)(void* context, const char* kind, const char* message);

/// The table of functions behind `type(x).__dlpack_c_exchange_api__`, a capsule named `dlpack_exchange_api`.
struct Exchange {
  Version version;
  Exchange* previous;
  int (*allocate)(Tensor* prototype, ManagedTensor** out, void* context, SetError set_error);
  int (*managed_from_object)(void* object, ManagedTensor** out);
  int (*managed_to_object)(ManagedTensor* tensor, void** out);
  int (*view_of_object)(void* object, Tensor* out);  // may be null
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};
inline constexpr std::uint32_t kMajor = 1;

}  // namespace oriel::python::dlpack
