// What the C interface says of the library.
#include "c/arguments.h"
#include "oriel/pool.h"

using namespace oriel::c;

const char* oriel_last_error(void) { return last_error(); }

uint32_t oriel_abi(void) { return ORIEL_C_ABI; }

const char* oriel_version(void) {
  try {
    static const std::string text = oriel::version();
    return text.c_str();
  } catch (...) {  // out of memory
    status_of_exception();
    return "";
  }
}

int64_t oriel_dtype_bytes(int32_t dtype) {
  int64_t bytes = 0;
  guarded([&] { bytes = oriel::size_bytes(dtype_of_number("oriel_dtype_bytes", "dtype", dtype)); });
  return bytes;
}

const char* oriel_dtype_name(int32_t dtype) {
  const char* text = nullptr;
  guarded([&] { text = oriel::name(dtype_of_number("oriel_dtype_name", "dtype", dtype)).data(); });
  return text;
}

oriel_status oriel_active_target(char* text, size_t capacity, size_t* length) {
  return guarded([&] { write_text("oriel_active_target", oriel::active_target(), text, capacity, length); });
}

oriel_status oriel_supported_targets(char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    std::string all;
    for (const std::string& target : oriel::supported_targets()) all.append(all.empty() ? "" : " ").append(target);
    write_text("oriel_supported_targets", all, text, capacity, length);
  });
}

oriel_status oriel_set_target(const char* name) {
  return guarded([&] {
    if (name == nullptr) refuse("oriel_set_target", "name", "must not be NULL (\"\": the best)");
    oriel::set_target(name);
  });
}

int32_t oriel_default_threads(void) {
  int32_t threads = 1;
  guarded([&] { threads = oriel::default_threads(); });
  return threads;
}

int32_t oriel_has_cuda(void) { return oriel::has_cuda() ? 1 : 0; }
