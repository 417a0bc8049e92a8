// A call by XLA, decoded: buffers as tensors, attributes by their names, exceptions as XLA's errors.
//
// Buffers are dense and row-major. A pool comes as the attribute `words` (pool_words.h), its axes counted from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "oriel/pool.h"
#include "xla_abi.h"
#include "xla_threads.h"

namespace oriel::python {

/// What a handler takes, and on which device: buffers, the attribute `words`, and `space` if indices are counted.
struct Signature {
  const char* name;
  Device device = Device::cpu;
  int inputs = 1;
  int outputs = 1;
  bool has_space = false;
};

/// The operands of a call, which are checked as they are asked for.
class Call {
 public:
  /// Throws Error unless the call is one to execute, with as many operands as the signature has.
  Call(const Signature& signature, const xla_abi::CallFrame& frame);

  ConstTensor input(int number) const;
  Tensor output(int number) const;
  Pool pool() const;
  IndexSpace space() const;

  Device device() const { return signature_.device; }
  void* stream() const { return stream_; }
  /// On XLA's threads or stream; while this call lives.
  Options options() const { return {.stream = stream_, .executor = threads_ ? threads_->executor() : nullptr}; }

 private:
  [[noreturn]] void refuse(const std::string& text) const;
  void check_count(const char* what, int wanted, std::int64_t given) const;
  void check_attributes() const;
  Tensor tensor(const char* what, const xla_abi::Operands& operands, int number) const;
  Dtype dtype(const std::string& what, xla_abi::DataType type) const;
  const void* attribute(std::string_view name, xla_abi::AttributeType type, const char* allowed) const;
  void* read_stream() const;

  const Signature& signature_;
  const xla_abi::CallFrame& frame_;
  std::optional<XlaThreads> threads_;  // on the CPU
  void* stream_ = nullptr;
};

/// A handler's whole answer to XLA: what it tells of itself, if that is asked for, else what `function` does. Returns
/// null, or XLA's error for what was thrown.
xla_abi::Error* answer(const Signature& signature, xla_abi::CallFrame* frame, void (*function)(const Call&)) noexcept;

}  // namespace oriel::python

// Python finds handlers by name (python/oriel/jax/primitives.py); declared first because everything else is hidden. The
// dots: the members of the signature after its name.
#define ORIEL_XLA_HANDLER(symbol, function, ...)                                            \
  extern "C" __attribute__((visibility("default"))) oriel::python::xla_abi::Handler symbol; \
  oriel::python::xla_abi::Error* symbol(oriel::python::xla_abi::CallFrame* frame) {         \
    static constexpr oriel::python::Signature signature{.name = #symbol, __VA_ARGS__};      \
    return oriel::python::answer(signature, frame, function);                               \
  }
