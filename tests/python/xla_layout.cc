// Our declarations of XLA's interface (python/src/xla_abi.h) against those of the header that jaxlib brings: sizes,
// places and sizes of members, and numbers. test_xla_abi.py compiles it; nothing of it is run.
#include "xla/ffi/api/c_api.h"
#include "xla_abi.h"

namespace abi = oriel::python::xla_abi;

#define SIZE(OURS, THEIRS) static_assert(abi::kSize<abi::OURS> == static_cast<std::size_t>(THEIRS##_STRUCT_SIZE))
#define MEMBER(OURS, OURS_MEMBER, THEIRS, THEIRS_MEMBER)                               \
  static_assert(offsetof(abi::OURS, OURS_MEMBER) == offsetof(THEIRS, THEIRS_MEMBER) && \
                sizeof(abi::OURS::OURS_MEMBER) == sizeof(((THEIRS*)nullptr)->THEIRS_MEMBER))
#define NUMBER(OURS, THEIRS) static_assert(static_cast<long>(abi::OURS) == static_cast<long>(THEIRS))

static_assert(abi::kMajor == XLA_FFI_API_MAJOR);

SIZE(Extension, XLA_FFI_Extension_Base);
MEMBER(Extension, struct_size, XLA_FFI_Extension_Base, struct_size);
MEMBER(Extension, type, XLA_FFI_Extension_Base, type);
MEMBER(Extension, next, XLA_FFI_Extension_Base, next);
NUMBER(ExtensionType::metadata, XLA_FFI_Extension_Metadata);

SIZE(Version, XLA_FFI_Api_Version);
MEMBER(Version, struct_size, XLA_FFI_Api_Version, struct_size);
MEMBER(Version, extensions, XLA_FFI_Api_Version, extension_start);
MEMBER(Version, major, XLA_FFI_Api_Version, major_version);
MEMBER(Version, minor, XLA_FFI_Api_Version, minor_version);

NUMBER(DataType::boolean, XLA_FFI_DataType_PRED);
NUMBER(DataType::i8, XLA_FFI_DataType_S8);
NUMBER(DataType::i16, XLA_FFI_DataType_S16);
NUMBER(DataType::i32, XLA_FFI_DataType_S32);
NUMBER(DataType::i64, XLA_FFI_DataType_S64);
NUMBER(DataType::u8, XLA_FFI_DataType_U8);
NUMBER(DataType::u16, XLA_FFI_DataType_U16);
NUMBER(DataType::u32, XLA_FFI_DataType_U32);
NUMBER(DataType::u64, XLA_FFI_DataType_U64);
NUMBER(DataType::f16, XLA_FFI_DataType_F16);
NUMBER(DataType::f32, XLA_FFI_DataType_F32);
NUMBER(DataType::f64, XLA_FFI_DataType_F64);
NUMBER(DataType::bf16, XLA_FFI_DataType_BF16);

SIZE(Buffer, XLA_FFI_Buffer);
MEMBER(Buffer, struct_size, XLA_FFI_Buffer, struct_size);
MEMBER(Buffer, extensions, XLA_FFI_Buffer, extension_start);
MEMBER(Buffer, dtype, XLA_FFI_Buffer, dtype);
MEMBER(Buffer, data, XLA_FFI_Buffer, data);
MEMBER(Buffer, rank, XLA_FFI_Buffer, rank);
MEMBER(Buffer, dims, XLA_FFI_Buffer, dims);

static_assert(sizeof(abi::Text) == sizeof(XLA_FFI_ByteSpan));
MEMBER(Text, data, XLA_FFI_ByteSpan, ptr);
MEMBER(Text, size, XLA_FFI_ByteSpan, len);

static_assert(sizeof(abi::Scalar) == sizeof(XLA_FFI_Scalar));
MEMBER(Scalar, dtype, XLA_FFI_Scalar, dtype);
MEMBER(Scalar, value, XLA_FFI_Scalar, value);

static_assert(sizeof(abi::Array) == sizeof(XLA_FFI_Array));
MEMBER(Array, dtype, XLA_FFI_Array, dtype);
MEMBER(Array, size, XLA_FFI_Array, size);
MEMBER(Array, data, XLA_FFI_Array, data);

NUMBER(ErrorCode::invalid_argument, XLA_FFI_Error_Code_INVALID_ARGUMENT);
NUMBER(ErrorCode::resource_exhausted, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
NUMBER(ErrorCode::internal, XLA_FFI_Error_Code_INTERNAL);

SIZE(CreateError, XLA_FFI_Error_Create_Args);
MEMBER(CreateError, struct_size, XLA_FFI_Error_Create_Args, struct_size);
MEMBER(CreateError, extensions, XLA_FFI_Error_Create_Args, extension_start);
MEMBER(CreateError, message, XLA_FFI_Error_Create_Args, message);
MEMBER(CreateError, code, XLA_FFI_Error_Create_Args, errc);

SIZE(GetErrorMessage, XLA_FFI_Error_GetMessage_Args);
MEMBER(GetErrorMessage, struct_size, XLA_FFI_Error_GetMessage_Args, struct_size);
MEMBER(GetErrorMessage, extensions, XLA_FFI_Error_GetMessage_Args, extension_start);
MEMBER(GetErrorMessage, error, XLA_FFI_Error_GetMessage_Args, error);
MEMBER(GetErrorMessage, message, XLA_FFI_Error_GetMessage_Args, message);

SIZE(DestroyError, XLA_FFI_Error_Destroy_Args);
MEMBER(DestroyError, struct_size, XLA_FFI_Error_Destroy_Args, struct_size);
MEMBER(DestroyError, extensions, XLA_FFI_Error_Destroy_Args, extension_start);
MEMBER(DestroyError, error, XLA_FFI_Error_Destroy_Args, error);

SIZE(GetStream, XLA_FFI_Stream_Get_Args);
MEMBER(GetStream, struct_size, XLA_FFI_Stream_Get_Args, struct_size);
MEMBER(GetStream, extensions, XLA_FFI_Stream_Get_Args, extension_start);
MEMBER(GetStream, context, XLA_FFI_Stream_Get_Args, ctx);
MEMBER(GetStream, stream, XLA_FFI_Stream_Get_Args, stream);

SIZE(ScheduleTask, XLA_FFI_ThreadPool_Schedule_Args);
MEMBER(ScheduleTask, struct_size, XLA_FFI_ThreadPool_Schedule_Args, struct_size);
MEMBER(ScheduleTask, extensions, XLA_FFI_ThreadPool_Schedule_Args, extension_start);
MEMBER(ScheduleTask, context, XLA_FFI_ThreadPool_Schedule_Args, ctx);
MEMBER(ScheduleTask, task, XLA_FFI_ThreadPool_Schedule_Args, task);
MEMBER(ScheduleTask, data, XLA_FFI_ThreadPool_Schedule_Args, data);

SIZE(CountThreads, XLA_FFI_ThreadPool_NumThreads_Args);
MEMBER(CountThreads, struct_size, XLA_FFI_ThreadPool_NumThreads_Args, struct_size);
MEMBER(CountThreads, extensions, XLA_FFI_ThreadPool_NumThreads_Args, extension_start);
MEMBER(CountThreads, context, XLA_FFI_ThreadPool_NumThreads_Args, ctx);
MEMBER(CountThreads, threads, XLA_FFI_ThreadPool_NumThreads_Args, num_threads);

MEMBER(Api, struct_size, XLA_FFI_Api, struct_size);
MEMBER(Api, extensions, XLA_FFI_Api, extension_start);
MEMBER(Api, version, XLA_FFI_Api, api_version);
MEMBER(Api, internal, XLA_FFI_Api, internal_api);
MEMBER(Api, create_error, XLA_FFI_Api, XLA_FFI_Error_Create);
MEMBER(Api, get_error_message, XLA_FFI_Api, XLA_FFI_Error_GetMessage);
MEMBER(Api, destroy_error, XLA_FFI_Api, XLA_FFI_Error_Destroy);
MEMBER(Api, register_handler, XLA_FFI_Api, XLA_FFI_Handler_Register);
MEMBER(Api, get_stream, XLA_FFI_Api, XLA_FFI_Stream_Get);
MEMBER(Api, register_type, XLA_FFI_Api, XLA_FFI_Type_Register);
MEMBER(Api, get_execution_context, XLA_FFI_Api, XLA_FFI_ExecutionContext_Get);
MEMBER(Api, set_state, XLA_FFI_Api, XLA_FFI_State_Set);
MEMBER(Api, get_state, XLA_FFI_Api, XLA_FFI_State_Get);
MEMBER(Api, allocate, XLA_FFI_Api, XLA_FFI_DeviceMemory_Allocate);
MEMBER(Api, free, XLA_FFI_Api, XLA_FFI_DeviceMemory_Free);
MEMBER(Api, schedule_task, XLA_FFI_Api, XLA_FFI_ThreadPool_Schedule);
MEMBER(Api, count_threads, XLA_FFI_Api, XLA_FFI_ThreadPool_NumThreads);

NUMBER(OperandType::buffer, XLA_FFI_ArgType_BUFFER);
NUMBER(OperandType::buffer, XLA_FFI_RetType_BUFFER);
NUMBER(AttributeType::array, XLA_FFI_AttrType_ARRAY);
NUMBER(AttributeType::dictionary, XLA_FFI_AttrType_DICTIONARY);
NUMBER(AttributeType::scalar, XLA_FFI_AttrType_SCALAR);
NUMBER(AttributeType::text, XLA_FFI_AttrType_STRING);
NUMBER(Stage::instantiate, XLA_FFI_ExecutionStage_INSTANTIATE);
NUMBER(Stage::prepare, XLA_FFI_ExecutionStage_PREPARE);
NUMBER(Stage::initialize, XLA_FFI_ExecutionStage_INITIALIZE);
NUMBER(Stage::execute, XLA_FFI_ExecutionStage_EXECUTE);

SIZE(Operands, XLA_FFI_Args);
MEMBER(Operands, struct_size, XLA_FFI_Args, struct_size);
MEMBER(Operands, extensions, XLA_FFI_Args, extension_start);
MEMBER(Operands, size, XLA_FFI_Args, size);
MEMBER(Operands, types, XLA_FFI_Args, types);
MEMBER(Operands, values, XLA_FFI_Args, args);

SIZE(Operands, XLA_FFI_Rets);
MEMBER(Operands, struct_size, XLA_FFI_Rets, struct_size);
MEMBER(Operands, extensions, XLA_FFI_Rets, extension_start);
MEMBER(Operands, size, XLA_FFI_Rets, size);
MEMBER(Operands, types, XLA_FFI_Rets, types);
MEMBER(Operands, values, XLA_FFI_Rets, rets);

SIZE(Attributes, XLA_FFI_Attrs);
MEMBER(Attributes, struct_size, XLA_FFI_Attrs, struct_size);
MEMBER(Attributes, extensions, XLA_FFI_Attrs, extension_start);
MEMBER(Attributes, size, XLA_FFI_Attrs, size);
MEMBER(Attributes, types, XLA_FFI_Attrs, types);
MEMBER(Attributes, names, XLA_FFI_Attrs, names);
MEMBER(Attributes, values, XLA_FFI_Attrs, attrs);

SIZE(CallFrame, XLA_FFI_CallFrame);
MEMBER(CallFrame, struct_size, XLA_FFI_CallFrame, struct_size);
MEMBER(CallFrame, extensions, XLA_FFI_CallFrame, extension_start);
MEMBER(CallFrame, api, XLA_FFI_CallFrame, api);
MEMBER(CallFrame, context, XLA_FFI_CallFrame, ctx);
MEMBER(CallFrame, stage, XLA_FFI_CallFrame, stage);
MEMBER(CallFrame, arguments, XLA_FFI_CallFrame, args);
MEMBER(CallFrame, results, XLA_FFI_CallFrame, rets);
MEMBER(CallFrame, attributes, XLA_FFI_CallFrame, attrs);

SIZE(Metadata, XLA_FFI_Metadata);
MEMBER(Metadata, struct_size, XLA_FFI_Metadata, struct_size);
MEMBER(Metadata, version, XLA_FFI_Metadata, api_version);
MEMBER(Metadata, traits, XLA_FFI_Metadata, traits);

SIZE(MetadataExtension, XLA_FFI_Metadata_Extension);
MEMBER(MetadataExtension, base, XLA_FFI_Metadata_Extension, extension_base);
MEMBER(MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);
