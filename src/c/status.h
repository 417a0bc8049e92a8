// How calls of the C interface end: by a status and, if it is not ORIEL_OK, a text.
#pragma once

#include <string>

#include "oriel/c.h"
#include "oriel/types.h"

namespace oriel::c {

/// A tensor is on a device that this build does not serve.
class NoDevice : public Error {
 public:
  using Error::Error;
};

/// Throws the Error `function: argument allowed, but value`.
[[noreturn]] void refuse(const char* function, std::string argument, std::string allowed, std::string value = {});

/// The status of the exception that is being handled; its text is the thread's last error.
oriel_status status_of_exception() noexcept;

/// The thread's last error.
const char* last_error() noexcept;

/// Runs a call, from which no exception comes.
template <class Call>
oriel_status guarded(const Call& call) noexcept {
  try {
    call();
    return ORIEL_OK;
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace oriel::c
