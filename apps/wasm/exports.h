// What the module exports, for oriel.mjs. Texts come in as UTF-8 that ends with a 0. A function that may fail returns 0
// if it has done its work, else 1: then result 0 is the error's text. Results stay until the next call.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// Memory for operands; null if there is none.
void* oriel_allocate(std::size_t bytes);
void oriel_free(void* memory);

/// Results: 0 is a text or the values of a pool, 1 its indices.
const void* oriel_result(int which);
std::size_t oriel_result_bytes(int which);
/// Gives the memory of the results back.
void oriel_clear();

/// `oriel explain --json NAME`.
int oriel_explain_json(const char* name);

/// The drawing of `oriel explain --svg`; `full` leaves nothing out. `output`, of `axes` coordinates, picks the output
/// whose plane is drawn; with `axes` = 0 it is chosen.
int oriel_explain_svg(const char* name, int full, const std::int32_t* output, int axes);

/// Element types and shapes of a pool, as JSON.
int oriel_describe(const char* name);

/// Pools; operands that are not given have 0 bytes.
int oriel_pool(const char* name, std::byte* x, std::size_t x_bytes, std::byte* dy, std::size_t dy_bytes,
               std::byte* indices, std::size_t indices_bytes);

/// The version of the library.
int oriel_version();
}
