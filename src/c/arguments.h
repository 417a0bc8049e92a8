// What a C caller passes, read with distrust.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>

#include "c/status.h"
#include "oriel/problem.h"
#include "oriel/tensor.h"

struct oriel_problem {
  oriel::Problem problem;
};

namespace oriel::c {

/// A number that must be one of 0 to `last`, as the enumeration it stands for.
template <class E>
E enumerator(const char* function, const char* argument, std::int32_t value, E last, const char* names) {
  if (value < 0 || value > static_cast<std::int32_t>(last)) {
    refuse(function, argument, "must be 0 to " + std::to_string(static_cast<int>(last)) + " (" + names + ")",
           "is " + std::to_string(value));
  }
  return static_cast<E>(value);
}

Dtype dtype_of_number(const char* function, const char* argument, std::int32_t value);
IndexSpace space_of_number(const char* function, std::int32_t value);
/// 0 or 1.
bool flag_of_number(const char* function, const char* argument, std::int32_t value);
void check_reserved(const char* function, const std::string& argument, std::int32_t value);

/// What a size may be at most: more than any struct will have, less than the memory behind a wrong one.
inline constexpr std::size_t kMostBytes = 4096;
/// The size that a struct had in its first version.
template <class S>
inline constexpr std::size_t kFirstBytes = 0;
template <>
inline constexpr std::size_t kFirstBytes<oriel_tensor> = offsetof(oriel_tensor, pitch) + sizeof(oriel_tensor::pitch);
template <>
inline constexpr std::size_t kFirstBytes<oriel_pool> = offsetof(oriel_pool, axes) + sizeof(oriel_pool::axes);
template <>
inline constexpr std::size_t kFirstBytes<oriel_run> = offsetof(oriel_run, stream) + sizeof(oriel_run::stream);
template <>
inline constexpr std::size_t kFirstBytes<oriel_problem_info> = offsetof(oriel_problem_info, output_pitch) +
                                                               sizeof(oriel_problem_info::output_pitch);

/// The size that a struct says of itself, once it is known to be one.
std::size_t checked_size(const char* function, const char* argument, const void* given, std::size_t first);
/// Refuses bytes that this version does not know, unless they are 0.
void check_unknown_bytes(const char* function, const char* argument, const void* given, std::size_t known,
                         std::size_t size);

/// A copy of a struct of any version; fields that it does not have are 0.
template <class S>
S read_struct(const char* function, const char* argument, const S* given) {
  const std::size_t size = checked_size(function, argument, given, kFirstBytes<S>);
  if (size > sizeof(S)) check_unknown_bytes(function, argument, given, sizeof(S), size);
  S out{};
  std::memcpy(static_cast<void*>(&out), given, std::min(size, sizeof(S)));
  return out;
}

/// Writes a struct into one of any version, whose size stays.
template <class S>
void write_struct(const char* function, const char* argument, S from, S* given) {
  from.size = checked_size(function, argument, given, kFirstBytes<S>);
  std::memset(static_cast<void*>(given), 0, from.size);
  std::memcpy(static_cast<void*>(given), &from, std::min(from.size, sizeof(S)));
}

/// `count` values behind a pointer: at most kMaxRank.
Extents list_of(const char* function, const std::string& argument, const std::int64_t* values, std::int32_t count);

/// A tensor that must be there, and one that may be NULL, which is no tensor then.
Tensor tensor_of(const char* function, const char* argument, const oriel_tensor* given);
Tensor optional_tensor_of(const char* function, const char* argument, const oriel_tensor* given);

/// The problem behind a pointer.
const Problem& problem_of(const char* function, const oriel_problem* given);

/// A text for a caller who has `capacity` bytes.
void write_text(const char* function, const std::string& from, char* text, std::size_t capacity, std::size_t* length);

/// A place for a result.
template <class T>
T& result_of(const char* function, const char* argument, T* place) {
  if (place == nullptr) refuse(function, argument, "must not be NULL");
  return *place;
}

}  // namespace oriel::c
