#include "c/arguments.h"

#include <algorithm>
#include <bit>

#include "c/numbers.h"
#include "oriel/pool.h"

namespace oriel::c {
namespace {

// A pointer that may point between two elements of its type, as those of other languages may.
template <class T>
T load(const T* from, std::size_t i) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(from) + i * sizeof(T), sizeof(T));
  return value;
}

// The bytes between which elements of a type must begin.
std::size_t alignment_of(Dtype dtype) {
  return visit(dtype, []<class T>() { return alignof(T); });
}

Tensor tensor_of(const char* function, const std::string& name, const oriel_tensor& t) {
  const auto argument = [&](const char* field) { return name + "->" + field; };
  const Dtype dtype = dtype_of_number(function, argument("dtype").c_str(), t.dtype);
  const Device device =
      enumerator(function, argument("device").c_str(), t.device, Device::cuda, "ORIEL_CPU, ORIEL_CUDA");
  if (device == Device::cuda && !has_cuda())
    throw NoDevice(std::string(function) + ": " + name + " is on a CUDA device, but this build runs on the CPU only");
  check_reserved(function, argument("reserved"), t.reserved);
  if (t.rank < 1 || t.rank > kMaxRank)
    refuse(function, argument("rank"), "must be 1 to " + std::to_string(kMaxRank), "is " + std::to_string(t.rank));
  const Extents shape = list_of(function, argument("shape"), t.shape, t.rank);
  for (int a = 0; a < shape.size(); ++a) {
    if (shape[a] < 0) {
      refuse(function, argument("shape"), "must have extents >= 0",
             "axis " + std::to_string(a) + " has " + std::to_string(shape[a]));
    }
  }
  const std::size_t alignment = alignment_of(dtype);
  if (reinterpret_cast<std::uintptr_t>(t.data) % alignment != 0) {
    refuse(function, argument("data"),
           "must be a multiple of " + std::to_string(alignment) + " bytes, as dtype " +
               std::string(oriel::name(dtype)) + " needs");
  }
  if (t.pitch == nullptr) return {t.data, dtype, shape, dense_pitch(shape), device};
  return {t.data, dtype, shape, list_of(function, argument("pitch"), t.pitch, t.rank), device};
}

}  // namespace

Dtype dtype_of_number(const char* function, const char* argument, std::int32_t value) {
  return enumerator(function, argument, value, Dtype::boolean,
                    "ORIEL_F64, F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, BOOL");
}

IndexSpace space_of_number(const char* function, std::int32_t value) {
  return enumerator(function, "space", value, IndexSpace::window, "ORIEL_PLANE, ORIEL_TENSOR, ORIEL_WINDOW");
}

bool flag_of_number(const char* function, const char* argument, std::int32_t value) {
  if (value != 0 && value != 1) refuse(function, argument, "must be 0 or 1", "is " + std::to_string(value));
  return value == 1;
}

void check_reserved(const char* function, const std::string& argument, std::int32_t value) {
  if (value != 0) refuse(function, argument, "must be 0", "is " + std::to_string(value));
}

std::size_t checked_size(const char* function, const char* argument, const void* given, std::size_t first) {
  if (given == nullptr) refuse(function, argument, "must not be NULL");
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < first || size > kMostBytes) {
    refuse(function, std::string(argument) + "->size",
           "must be the bytes of the struct, at least " + std::to_string(first), "is " + std::to_string(size));
  }
  return size;
}

void check_unknown_bytes(const char* function, const char* argument, const void* given, std::size_t known,
                         std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(given);
  const auto* const found = std::find_if(bytes + known, bytes + size, [](unsigned char byte) { return byte != 0; });
  if (found == bytes + size) return;
  refuse(function, std::string(argument) + "->size",
         "must be at most " + std::to_string(known) + " if what lies behind is used: this library knows no more",
         "is " + std::to_string(size) + " and byte " + std::to_string(found - bytes) + " is not 0");
}

Extents list_of(const char* function, const std::string& argument, const std::int64_t* values, std::int32_t count) {
  if (values == nullptr) refuse(function, argument, "must not be NULL");
  Extents list;
  for (std::int32_t i = 0; i < count; ++i) list.push_back(load(values, static_cast<std::size_t>(i)));
  return list;
}

Tensor tensor_of(const char* function, const char* argument, const oriel_tensor* given) {
  return tensor_of(function, std::string(argument), read_struct(function, argument, given));
}

Tensor optional_tensor_of(const char* function, const char* argument, const oriel_tensor* given) {
  return given == nullptr ? Tensor() : tensor_of(function, argument, given);
}

const Problem& problem_of(const char* function, const oriel_problem* given) {
  if (given == nullptr) refuse(function, "problem", "must not be NULL");
  return given->problem;
}

void write_text(const char* function, const std::string& from, char* text, std::size_t capacity, std::size_t* length) {
  if (text == nullptr && capacity != 0)
    refuse(function, "text", "must not be NULL", "capacity is " + std::to_string(capacity));
  if (length != nullptr) *length = from.size();
  if (capacity == 0) return;
  const std::size_t count = std::min(from.size(), capacity - 1);
  std::memcpy(text, from.data(), count);
  text[count] = '\0';
}

}  // namespace oriel::c
