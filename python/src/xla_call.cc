#include "xla_call.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "pool_words.h"

namespace oriel::python {
namespace {

using xla_abi::AttributeType;
using xla_abi::DataType;
using xla_abi::kSize;

xla_abi::Error* error_of(const xla_abi::Api& api, xla_abi::ErrorCode code, const char* message) {
  xla_abi::CreateError call{kSize<xla_abi::CreateError>, nullptr, message, code};
  return api.create_error(&call);
}

// The message of an error, which is destroyed.
std::string take(const xla_abi::Api& api, xla_abi::Error* error) {
  xla_abi::GetErrorMessage get{kSize<xla_abi::GetErrorMessage>, nullptr, error, nullptr};
  api.get_error_message(&get);
  std::string message = get.message;
  xla_abi::DestroyError destroy{kSize<xla_abi::DestroyError>, nullptr, error};
  api.destroy_error(&destroy);
  return message;
}

// Where a handler is to write what it is, or null if it is called for its work.
xla_abi::Metadata* metadata_asked_for(const xla_abi::CallFrame& frame) {
  for (xla_abi::Extension* e = frame.extensions; e != nullptr; e = e->next) {
    if (e->type == xla_abi::ExtensionType::metadata) return reinterpret_cast<xla_abi::MetadataExtension*>(e)->metadata;
  }
  return nullptr;
}

// The newest version that both sides have. Versions of XLA that take only handlers of their own version have 0.1, and
// say nothing of themselves here.
int common_minor(const xla_abi::Api* api) {
  if (api == nullptr) return xla_abi::kOldestMinor;
  return std::clamp(api->version.minor, xla_abi::kOldestMinor, xla_abi::kNewestMinor);
}

void describe(const xla_abi::Api* api, xla_abi::Metadata& metadata) {
  if (metadata.struct_size < kSize<xla_abi::Metadata>) return;  // without an answer XLA refuses the handler
  metadata.version = {kSize<xla_abi::Version>, nullptr, xla_abi::kMajor, common_minor(api)};
  metadata.traits = 0;
}

std::string_view view_of(const xla_abi::Text& text) { return {text.data, text.size}; }

}  // namespace

Call::Call(const Signature& signature, const xla_abi::CallFrame& frame) : signature_(signature), frame_(frame) {
  if (frame.struct_size < kSize<xla_abi::CallFrame>) {
    refuse("XLA's call frame must have at least " + std::to_string(kSize<xla_abi::CallFrame>) + " bytes, but has " +
           std::to_string(frame.struct_size));
  }
  if (frame.stage != xla_abi::Stage::execute) {
    refuse("the stage must be 3 (execute), but is " + std::to_string(static_cast<std::uint32_t>(frame.stage)));
  }
  check_count("inputs", signature.inputs, frame.arguments.size);
  check_count("results", signature.outputs, frame.results.size);
  check_attributes();
  if (signature.device == Device::cuda) {
    stream_ = read_stream();
  } else {
    threads_.emplace(*frame.api, frame.context);
  }
}

void Call::refuse(const std::string& text) const { throw Error(std::string(signature_.name) + ": " + text); }

void Call::check_count(const char* what, int wanted, std::int64_t given) const {
  if (given == wanted) return;
  refuse(std::string("the number of ") + what + " must be " + std::to_string(wanted) + ", but is " +
         std::to_string(given));
}

void Call::check_attributes() const {
  const xla_abi::Attributes& given = frame_.attributes;
  const auto has = [&](std::string_view name) {
    return std::any_of(given.names, given.names + given.size,
                       [&](const xla_abi::Text* text) { return view_of(*text) == name; });
  };
  if (given.size == (signature_.has_space ? 2 : 1) && has("words") && (!signature_.has_space || has("space"))) return;
  std::string text = signature_.has_space ? "the attributes must be space and words, but are"
                                          : "the attributes must be words alone, but are";
  if (given.size == 0) text += " none";
  for (std::int64_t i = 0; i < given.size; ++i) {
    text += i == 0 ? " " : ", ";
    text += view_of(*given.names[i]);
  }
  refuse(text);
}

Dtype Call::dtype(const std::string& what, DataType type) const {
  switch (type) {
    case DataType::f64:
      return Dtype::f64;
    case DataType::f32:
      return Dtype::f32;
    case DataType::f16:
      return Dtype::f16;
    case DataType::bf16:
      return Dtype::bf16;
    case DataType::i8:
      return Dtype::i8;
    case DataType::u8:
      return Dtype::u8;
    case DataType::i16:
      return Dtype::i16;
    case DataType::u16:
      return Dtype::u16;
    case DataType::i32:
      return Dtype::i32;
    case DataType::u32:
      return Dtype::u32;
    case DataType::i64:
      return Dtype::i64;
    case DataType::u64:
      return Dtype::u64;
    case DataType::boolean:
      return Dtype::boolean;
  }
  refuse(what + " must have elements that can be pooled (floats of 16 to 64 bits, integers of 8 to 64 bits, booleans)" +
         ", but XLA's number of their type is " + std::to_string(static_cast<std::uint32_t>(type)));
}

Tensor Call::tensor(const char* what, const xla_abi::Operands& operands, int number) const {
  const std::string name = what + std::string(" ") + std::to_string(number);
  if (operands.types[number] != xla_abi::OperandType::buffer) refuse(name + " must be a buffer, but is none");
  const auto& buffer = *static_cast<const xla_abi::Buffer*>(operands.values[number]);
  if (buffer.rank > kMaxRank) {
    refuse(name + " must have at most " + std::to_string(kMaxRank) + " axes, but has " + std::to_string(buffer.rank));
  }
  Extents shape;
  for (std::int64_t a = 0; a < buffer.rank; ++a) shape.push_back(buffer.dims[a]);
  return {buffer.data, dtype(name, buffer.dtype), shape, dense_pitch(shape), signature_.device};
}

ConstTensor Call::input(int number) const { return tensor("input", frame_.arguments, number); }

Tensor Call::output(int number) const { return tensor("result", frame_.results, number); }

const void* Call::attribute(std::string_view name, AttributeType type, const char* allowed) const {
  const xla_abi::Attributes& given = frame_.attributes;
  std::int64_t at = 0;  // it is there: check_attributes
  while (view_of(*given.names[at]) != name) ++at;
  if (given.types[at] != type) {
    refuse(std::string(name) + " must be " + allowed + ", but XLA's number of its type is " +
           std::to_string(static_cast<std::uint32_t>(given.types[at])));
  }
  return given.values[at];
}

Pool Call::pool() const {
  const char* allowed = "an array of int64";
  const auto& array = *static_cast<const xla_abi::Array*>(attribute("words", AttributeType::array, allowed));
  if (array.dtype != DataType::i64) {
    refuse(std::string("words must be ") + allowed + ", but XLA's number of its elements' type is " +
           std::to_string(static_cast<std::uint32_t>(array.dtype)));
  }
  return from_words({static_cast<const index_t*>(array.data), array.size});
}

IndexSpace Call::space() const {
  const char* allowed = "an int32";
  const auto& scalar = *static_cast<const xla_abi::Scalar*>(attribute("space", AttributeType::scalar, allowed));
  if (scalar.dtype != DataType::i32) {
    refuse(std::string("space must be ") + allowed + ", but XLA's number of its type is " +
           std::to_string(static_cast<std::uint32_t>(scalar.dtype)));
  }
  const std::int32_t number = *static_cast<const std::int32_t*>(scalar.value);
  if (number < 0 || number > static_cast<std::int32_t>(IndexSpace::window)) {
    refuse("space must be 0 (plane), 1 (tensor) or 2 (window), but is " + std::to_string(number));
  }
  return static_cast<IndexSpace>(number);
}

void* Call::read_stream() const {
  xla_abi::GetStream call{kSize<xla_abi::GetStream>, nullptr, frame_.context, nullptr};
  if (xla_abi::Error* error = frame_.api->get_stream(&call)) {
    refuse("XLA must give a stream, but says: " + take(*frame_.api, error));
  }
  return call.stream;
}

xla_abi::Error* answer(const Signature& signature, xla_abi::CallFrame* frame, void (*function)(const Call&)) noexcept {
  if (xla_abi::Metadata* metadata = metadata_asked_for(*frame)) {
    describe(frame->api, *metadata);
    return nullptr;
  }
  using xla_abi::ErrorCode;
  try {
    function(Call(signature, *frame));
    return nullptr;
  } catch (const Error& e) {
    return error_of(*frame->api, ErrorCode::invalid_argument, e.what());
  } catch (const std::bad_alloc&) {
    return error_of(*frame->api, ErrorCode::resource_exhausted, "pool: out of memory");
  } catch (const std::exception& e) {
    return error_of(*frame->api, ErrorCode::internal, e.what());
  }
}

}  // namespace oriel::python
