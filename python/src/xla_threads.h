// XLA's threads, which run the calls that XLA makes.
#pragma once

#include "oriel/executor.h"
#include "xla_abi.h"

namespace oriel::python {

/// What the threads of XLA's CPU client are for one call of a handler.
class XlaThreads {
 public:
  XlaThreads(const xla_abi::Api& api, xla_abi::Context* context);
  XlaThreads(const XlaThreads&) = delete;
  XlaThreads& operator=(const XlaThreads&) = delete;

  /// While this object lives. Of one thread if XLA computes with one; null if this version of XLA lends none.
  const Executor* executor() const { return executor_.run == nullptr ? nullptr : &executor_; }

 private:
  static void run(void* self, std::int64_t count, void (*task)(void* state, std::int64_t i), void* state);
  bool schedule(xla_abi::Task* task, void* data) const;
  bool succeeded(xla_abi::Error* error) const;

  const xla_abi::Api& api_;
  xla_abi::Context* context_;
  Executor executor_;
};

}  // namespace oriel::python
