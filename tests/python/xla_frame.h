// Calls as XLA makes them, to the handlers of python/src/xla*.cc.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "oriel/tensor.h"
#include "python/src/xla_abi.h"

// What XLA keeps for itself.
struct oriel::python::xla_abi::Error {
  std::string message;
  ErrorCode code;
};
struct oriel::python::xla_abi::Context {
  void* stream;
  int threads = 1;  // 0: none can be had
  // Runs what is scheduled, on whatever thread and whenever; null: it is refused.
  void (*schedule)(oriel::python::xla_abi::Task* task, void* data) = nullptr;
};

namespace oriel::test {

namespace xla = python::xla_abi;

/// What a handler answered; without a message it did its work.
struct Answer {
  std::string message;
  xla::ErrorCode code{};
};

inline xla::DataType xla_type(Dtype dtype) {
  switch (dtype) {
#define ORIEL_DTYPE(NAME, ...) \
  case Dtype::NAME:            \
    return xla::DataType::NAME;
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
  }
  throw Error("no such dtype");
}

/// The operands of one call, whose memory is the caller's, and XLA's side of it.
class Frame {
 public:
  Frame() {}
  Frame(Frame&&) = default;  // deques keep their elements where they are

  Frame& input(const ConstTensor& x) { return add(inputs_, const_cast<void*>(x.data), x.dtype, x.shape); }
  Frame& result(const Tensor& y) { return add(results_, y.data, y.dtype, y.shape); }
  /// An array of int64, or of another type.
  Frame& array(const char* name, std::vector<index_t> values, xla::DataType dtype = xla::DataType::i64) {
    words_.push_back(std::move(values));
    arrays_.push_back({dtype, words_.back().size(), words_.back().data()});
    return attribute(name, xla::AttributeType::array, &arrays_.back());
  }
  Frame& scalar(const char* name, std::int32_t value, xla::DataType dtype = xla::DataType::i32) {
    numbers_.push_back(value);
    scalars_.push_back({dtype, &numbers_.back()});
    return attribute(name, xla::AttributeType::scalar, &scalars_.back());
  }
  /// The last operand that was added, to be spoilt.
  xla::Buffer& buffer() { return buffers_.back(); }

  /// Calls the handler; `spoil` may change the frame before.
  template <class Spoil>
  Answer call(xla::Handler* handler, Spoil spoil) {
    xla::CallFrame frame = build();
    spoil(frame);
    xla::Error* error = handler(&frame);
    if (error == nullptr) return {};
    Answer answer{error->message, error->code};
    delete error;
    return answer;
  }
  Answer call(xla::Handler* handler) {
    return call(handler, [](xla::CallFrame&) {});
  }

  xla::Api api = {xla::kSize<xla::Api>,
                  nullptr,
                  {xla::kSize<xla::Version>, nullptr, 0, 3},
                  nullptr,
                  &create_error,
                  &get_error_message,
                  &destroy_error,
                  nullptr,
                  &get_stream,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  &schedule_task,
                  &count_threads};
  xla::Context context{nullptr};

 private:
  struct Operands {
    std::vector<xla::OperandType> types;
    std::vector<void*> values;
  };

  Frame& add(Operands& to, void* data, Dtype dtype, const Extents& shape) {
    dims_.emplace_back(shape.begin(), shape.end());
    buffers_.push_back({xla::kSize<xla::Buffer>, nullptr, xla_type(dtype), data,
                        static_cast<std::int64_t>(dims_.back().size()), dims_.back().data()});
    to.types.push_back(xla::OperandType::buffer);
    to.values.push_back(&buffers_.back());
    return *this;
  }
  Frame& attribute(const char* name, xla::AttributeType type, void* value) {
    texts_.push_back({name, std::strlen(name)});
    names_.push_back(&texts_.back());
    kinds_.push_back(type);
    values_.push_back(value);
    return *this;
  }

  xla::CallFrame build() {
    const auto operands = [](Operands& of) {
      return xla::Operands{xla::kSize<xla::Operands>, nullptr, static_cast<std::int64_t>(of.types.size()),
                           of.types.data(), of.values.data()};
    };
    return {xla::kSize<xla::CallFrame>,
            nullptr,
            &api,
            &context,
            xla::Stage::execute,
            operands(inputs_),
            operands(results_),
            xla::Attributes{xla::kSize<xla::Attributes>, nullptr, static_cast<std::int64_t>(kinds_.size()),
                            kinds_.data(), names_.data(), values_.data()}};
  }

  static xla::Error* create_error(xla::CreateError* call) {
    if (call->struct_size != 28) throw std::logic_error("XLA wants 28 bytes");
    return new xla::Error{call->message, call->code};
  }
  static void get_error_message(xla::GetErrorMessage* call) { call->message = call->error->message.c_str(); }
  static void destroy_error(xla::DestroyError* call) { delete call->error; }
  static xla::Error* get_stream(xla::GetStream* call) {
    if (call->context == nullptr) return new xla::Error{"there is no stream", xla::ErrorCode::internal};
    call->stream = call->context->stream;
    return nullptr;
  }

  static xla::Error* schedule_task(xla::ScheduleTask* call) {
    if (call->struct_size != 40) throw std::logic_error("XLA wants 40 bytes");
    if (call->context->schedule == nullptr) return new xla::Error{"there are no threads", xla::ErrorCode::internal};
    call->context->schedule(call->task, call->data);
    return nullptr;
  }
  static xla::Error* count_threads(xla::CountThreads* call) {
    if (call->struct_size != 32) throw std::logic_error("XLA wants 32 bytes");
    if (call->context->threads == 0) return new xla::Error{"there are no threads", xla::ErrorCode::internal};
    *call->threads = call->context->threads;
    return nullptr;
  }

  // Deques: their elements stay where they are.
  std::deque<std::vector<std::int64_t>> dims_;
  std::deque<std::vector<index_t>> words_;
  std::deque<xla::Buffer> buffers_;
  std::deque<xla::Array> arrays_;
  std::deque<xla::Scalar> scalars_;
  std::deque<std::int32_t> numbers_;
  std::deque<xla::Text> texts_;
  Operands inputs_, results_;
  std::vector<xla::Text*> names_;
  std::vector<xla::AttributeType> kinds_;
  std::vector<void*> values_;
};

}  // namespace oriel::test
