#include "c/status.h"

#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace oriel::c {
namespace {

// Of a fixed size: there may be no memory for a text that says so.
thread_local char last_text[1024];

oriel_status note(oriel_status status, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), sizeof last_text - 1);
  std::memcpy(last_text, text.data(), length);
  last_text[length] = '\0';
  return status;
}

}  // namespace

void refuse(const char* function, std::string argument, std::string allowed, std::string value) {
  throw Error(Error::Fields{
      .function = function, .argument = std::move(argument), .allowed = std::move(allowed), .value = std::move(value)});
}

oriel_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const NoDevice& error) {
    return note(ORIEL_NO_DEVICE, error.what());
  } catch (const Error& error) {
    return note(ORIEL_INVALID, error.what());
  } catch (const std::bad_alloc&) {
    return note(ORIEL_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return note(ORIEL_INTERNAL, error.what());
  } catch (...) {
    return note(ORIEL_INTERNAL, "an exception of no known type");
  }
}

const char* last_error() noexcept { return last_text; }

}  // namespace oriel::c
