#include "apps/wasm/exports.h"

#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "apps/wasm/operands.h"
#include "cli/axis_picture.h"
#include "cli/explain.h"
#include "oriel/pool.h"

#ifdef __EMSCRIPTEN__
#define ORIEL_EXPORT(name) __attribute__((used, visibility("default"), export_name(#name)))
#else  // tests
#define ORIEL_EXPORT(name)
#endif

namespace {

using namespace oriel;

std::vector<std::byte> results[2];

void clear() {
  for (std::vector<std::byte>& result : results) std::vector<std::byte>().swap(result);
}

void set_result(std::string_view text) {
  clear();
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  results[0].assign(first, first + text.size());
}

template <class Work>
int run(const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc&) {
    set_result("out of memory");
  } catch (const std::exception& error) {
    set_result(error.what());
  }
  return 1;
}

}  // namespace

ORIEL_EXPORT(oriel_allocate) void* oriel_allocate(std::size_t bytes) { return std::malloc(bytes > 0 ? bytes : 1); }
ORIEL_EXPORT(oriel_free) void oriel_free(void* memory) { std::free(memory); }

ORIEL_EXPORT(oriel_result) const void* oriel_result(int which) { return results[which].data(); }
ORIEL_EXPORT(oriel_result_bytes) std::size_t oriel_result_bytes(int which) { return results[which].size(); }
ORIEL_EXPORT(oriel_clear) void oriel_clear() { clear(); }

ORIEL_EXPORT(oriel_explain_json) int oriel_explain_json(const char* name) {
  return run([&] { set_result(cli::explain_json(parse_problem(name))); });
}

ORIEL_EXPORT(oriel_explain_svg)
int oriel_explain_svg(const char* name, int full, const std::int32_t* output, int axes) {
  return run([&] {
    const Problem problem = parse_problem(name);
    const Extents chosen =
        axes == 0 ? cli::telling_outputs(problem) : wasm::output_at(problem, {output, static_cast<std::size_t>(axes)});
    set_result(cli::explain_svg(problem, chosen, full != 0));
  });
}

ORIEL_EXPORT(oriel_describe) int oriel_describe(const char* name) {
  return run([&] { set_result(wasm::describe(parse_problem(name))); });
}

ORIEL_EXPORT(oriel_pool)
int oriel_pool(const char* name, std::byte* x, std::size_t x_bytes, std::byte* dy, std::size_t dy_bytes,
               std::byte* indices, std::size_t indices_bytes) {
  return run([&] {
    wasm::Results made = wasm::pool(parse_problem(name), {{x, x_bytes}, {dy, dy_bytes}, {indices, indices_bytes}});
    results[0] = std::move(made.values);
    results[1] = std::move(made.indices);
  });
}

ORIEL_EXPORT(oriel_version) int oriel_version() {
  return run([] { set_result(version()); });
}
