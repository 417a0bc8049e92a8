// The C structures by which XLA calls foreign functions, of versions 0.1 to 0.3 of its interface: their layout is a
// fixed ABI. Declared here, so that the package is built without jaxlib, which brings XLA's header;
// tests/python/xla_layout.cc compares the two. What is not used is left out: functions of the table, and members at the
// end of a structure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace oriel::python::xla_abi {

/// The versions that have these layouts.
inline constexpr int kMajor = 0, kOldestMinor = 1, kNewestMinor = 3;

// The first member of most structures is the size that who made it knows of: later versions append members.

enum class ExtensionType : std::uint32_t { metadata = 1 };

/// A list of what a call has beside its structure.
struct Extension {
  std::size_t struct_size;
  ExtensionType type;
  Extension* next;
};

struct Version {
  std::size_t struct_size;
  Extension* extensions;
  int major;
  int minor;
};

// -- Values

enum class DataType : std::uint32_t {
  boolean = 1,
  i8 = 2,
  i16 = 3,
  i32 = 4,
  i64 = 5,
  u8 = 6,
  u16 = 7,
  u32 = 8,
  u64 = 9,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  bf16 = 16
};

struct Buffer {
  std::size_t struct_size;
  Extension* extensions;
  DataType dtype;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};

struct Text {
  const char* data;
  std::size_t size;
};

struct Scalar {
  DataType dtype;
  void* value;
};

struct Array {
  DataType dtype;
  std::size_t size;
  void* data;
};

// -- Errors: who is given one destroys it

struct Error;

enum class ErrorCode : std::uint32_t { invalid_argument = 3, resource_exhausted = 8, internal = 13 };

struct CreateError {
  std::size_t struct_size;
  Extension* extensions;
  const char* message;
  ErrorCode code;
};

struct GetErrorMessage {
  std::size_t struct_size;
  Extension* extensions;
  Error* error;
  const char* message;  // out
};

struct DestroyError {
  std::size_t struct_size;
  Extension* extensions;
  Error* error;
};

// -- Calls

struct Context;

struct GetStream {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  void* stream;  // out: of CUDA, a cudaStream_t
};

using Task = void(void* data);

struct ScheduleTask {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  Task* task;
  void* data;
};

struct CountThreads {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  std::int64_t* threads;  // out
};

/// XLA's functions.
struct Api {
  std::size_t struct_size;
  Extension* extensions;
  Version version;
  const void* internal;
  Error* (*create_error)(CreateError*);
  void (*get_error_message)(GetErrorMessage*);
  void (*destroy_error)(DestroyError*);
  void (*register_handler)();  // with arguments that are not declared here
  Error* (*get_stream)(GetStream*);
  void (*register_type)();  // these six too
  void (*get_execution_context)();
  void (*set_state)();
  void (*get_state)();
  void (*allocate)();
  void (*free)();
  Error* (*schedule_task)(ScheduleTask*);  // from here on the table may end, as struct_size says
  Error* (*count_threads)(CountThreads*);
};

enum class OperandType : std::uint32_t { buffer = 1 };
enum class AttributeType : std::uint32_t { array = 1, dictionary = 2, scalar = 3, text = 4 };
enum class Stage : std::uint32_t { instantiate = 0, prepare = 1, initialize = 2, execute = 3 };

/// The arguments of a call, or its results.
struct Operands {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  OperandType* types;
  void** values;  // each a Buffer
};

struct Attributes {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  AttributeType* types;
  Text** names;
  void** values;  // each an Array, a Scalar …
};

struct CallFrame {
  std::size_t struct_size;
  Extension* extensions;
  const Api* api;
  Context* context;
  Stage stage;
  Operands arguments;
  Operands results;
  Attributes attributes;
};

using Handler = Error*(CallFrame*);

/// What a handler tells of itself, when it is called with an extension that asks for that.
struct Metadata {
  std::size_t struct_size;
  Version version;
  std::uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

/// What the member struct_size says: where the last member ends, so no padding counts.
template <class S>
inline constexpr std::size_t kSize = sizeof(S);
template <>
inline constexpr std::size_t kSize<CreateError> = offsetof(CreateError, code) + sizeof(ErrorCode);
template <>
inline constexpr std::size_t kSize<Metadata> = offsetof(Metadata, traits) + sizeof(std::uint32_t);

}  // namespace oriel::python::xla_abi
