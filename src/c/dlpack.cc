// DLPack's tensors as those of the C interface.
#include <cstdint>

#include "c/arguments.h"

namespace oriel::c {
namespace {

// Numbers of DLPack.
enum DeviceType { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum Code { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };
constexpr std::uint32_t kMajor = 1;
constexpr std::uint64_t kReadOnly = 1;

std::int32_t device_of(const char* function, std::int32_t type) {
  if (type == kCpu || type == kCudaHost) return ORIEL_CPU;
  if (type == kCuda || type == kCudaManaged) return ORIEL_CUDA;
  throw NoDevice(Error::Fields{.function = function,
                               .argument = "from->device.type",
                               .allowed = "must be 1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA managed)",
                               .value = "is " + std::to_string(type)});
}

std::int32_t dtype_of(const char* function, oriel_dl_dtype type) {
  struct Row {
    int code, bits, dtype;
  };
  constexpr Row kRows[] = {{kFloat, 64, ORIEL_F64}, {kFloat, 32, ORIEL_F32}, {kFloat, 16, ORIEL_F16},
                           {kInt, 8, ORIEL_I8},     {kInt, 16, ORIEL_I16},   {kInt, 32, ORIEL_I32},
                           {kInt, 64, ORIEL_I64},   {kUInt, 8, ORIEL_U8},    {kUInt, 16, ORIEL_U16},
                           {kUInt, 32, ORIEL_U32},  {kUInt, 64, ORIEL_U64},  {kBfloat, 16, ORIEL_BF16},
                           {kBool, 8, ORIEL_BOOL}};
  for (const Row& row : kRows)
    if (type.lanes == 1 && row.code == type.code && row.bits == type.bits) return row.dtype;
  refuse(function, "from->dtype",
         "must be float of 64, 32 or 16 bits, bfloat of 16, int or uint of 8 to 64, bool of 8, of one lane",
         "has code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits, " +
             std::to_string(type.lanes) + " lanes");
}

oriel_tensor view_of(const char* function, const oriel_dl_tensor& from) {
  if (from.ndim < 1 || from.ndim > kMaxRank) {
    refuse(function, "from->ndim", "must be 1 to " + std::to_string(kMaxRank), "is " + std::to_string(from.ndim));
  }
  if (from.shape == nullptr) refuse(function, "from->shape", "must not be NULL");
  oriel_tensor to{};
  to.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(from.data) + from.byte_offset);
  to.dtype = dtype_of(function, from.dtype);
  to.device = device_of(function, from.device.type);
  to.rank = from.ndim;
  to.shape = from.shape;
  to.pitch = from.strides;
  return to;
}

}  // namespace
}  // namespace oriel::c

using namespace oriel::c;

oriel_status oriel_tensor_from_dlpack(const oriel_dl_tensor* from, oriel_tensor* to) {
  return guarded([&] {
    constexpr const char* kFunction = "oriel_tensor_from_dlpack";
    if (from == nullptr) refuse(kFunction, "from", "must not be NULL");
    write_struct(kFunction, "to", view_of(kFunction, *from), to);
  });
}

oriel_status oriel_tensor_from_dlpack_managed(const oriel_dl_managed_tensor* from, int32_t written, oriel_tensor* to) {
  return guarded([&] {
    constexpr const char* kFunction = "oriel_tensor_from_dlpack_managed";
    if (from == nullptr) refuse(kFunction, "from", "must not be NULL");
    if (from->version.major != kMajor) {
      refuse(kFunction, "from->version.major", "must be " + std::to_string(kMajor),
             "is " + std::to_string(from->version.major));
    }
    if (flag_of_number(kFunction, "written", written) && (from->flags & kReadOnly) != 0)
      refuse(kFunction, "from", "must be writable", "is marked read-only");
    write_struct(kFunction, "to", view_of(kFunction, from->dl_tensor), to);
  });
}
