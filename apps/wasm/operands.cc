#include "apps/wasm/operands.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "oriel/pool.h"

namespace oriel::wasm {
namespace {

constexpr index_t kMostBytes = std::numeric_limits<std::int32_t>::max();  // no block of a 32-bit memory is larger

Dtype index_dtype(const Problem& p) { return p.codes ? Dtype::u8 : Dtype::i64; }
IndexSpace index_space(const Problem& p) { return p.codes ? IndexSpace::window : IndexSpace::plane; }
bool indexed(const Problem& p) { return p.indices || p.codes; }
bool is_gradient(const Problem& p) { return p.direction == Direction::backward; }
// Sums and averages that pass NaN on have a gradient that is the same for every input.
bool gradient_needs_x(const Problem& p) {
  return !indexed(p) && ((p.pool.op != Op::sum && p.pool.op != Op::avg) || p.pool.nan == NanPolicy::omit);
}

index_t bytes_of(const Extents& shape, Dtype dtype, const char* what) {
  const index_t count = element_count(shape), size = static_cast<index_t>(size_bytes(dtype));
  if (count > kMostBytes / size) {
    throw Error(fmt::format("pool: {} must have at most {} bytes, but has the shape {} of {}", what, kMostBytes,
                            to_string(shape), name(dtype)));
  }
  return count * size;
}

Tensor view(std::span<std::byte> memory, const Problem& p, const Extents& shape, Dtype dtype, const char* what) {
  const index_t wanted = bytes_of(shape, dtype, what);
  if (static_cast<index_t>(memory.size()) != wanted) {
    throw Error(fmt::format("pool: {} must have {} bytes for {} of {}, but has {}", what, wanted, to_string(shape),
                            name(dtype), memory.size()));
  }
  return {memory.data(), dtype, shape, dense_pitch(shape, p.order)};
}

std::vector<std::byte> room_for(const Extents& shape, Dtype dtype, const char* what) {
  return std::vector<std::byte>(static_cast<std::size_t>(bytes_of(shape, dtype, what)));
}

void check_wanted(std::span<std::byte> memory, bool wanted, const char* what, const Problem& p) {
  if (memory.empty() != wanted || element_count(p.shape) == 0) return;
  throw Error(fmt::format("pool: {} {} for {}, but is {}", what, wanted ? "must be given" : "must not be given",
                          to_string(p), wanted ? "missing" : "there"));
}

Results gradient(const Problem& p, const Given& given) {
  const Extents& out = p.output_shape;
  const ConstTensor dy = view(given.dy, p, out, p.dtype, "dy");
  Results results{room_for(p.shape, p.dtype, "dx"), {}};
  const Tensor dx = view(results.values, p, p.shape, p.dtype, "dx");
  if (indexed(p)) {
    const ConstTensor indices = view(given.indices, p, out, index_dtype(p), "indices");
    backward(p, {.dy = dy, .indices = indices, .space = index_space(p), .dx = dx});
  } else if (gradient_needs_x(p)) {
    backward(p, {.x = view(given.x, p, p.shape, p.dtype, "x"), .dy = dy, .dx = dx});
  } else {
    backward(p, {.dy = dy, .dx = dx});
  }
  return results;
}

}  // namespace

Results pool(const Problem& p, const Given& given) {
  check_wanted(given.x, !is_gradient(p) || gradient_needs_x(p), "x", p);
  check_wanted(given.dy, is_gradient(p), "dy", p);
  check_wanted(given.indices, is_gradient(p) && indexed(p), "indices", p);
  if (is_gradient(p)) return gradient(p, given);
  const Extents& out = p.output_shape;
  const ConstTensor x = view(given.x, p, p.shape, p.dtype, "x");
  Results results{room_for(out, p.dtype, "the result"), {}};
  const Tensor y = view(results.values, p, out, p.dtype, "the result");
  if (!indexed(p)) {
    forward(p, {.x = x, .y = y});
    return results;
  }
  results.indices = room_for(out, index_dtype(p), "indices");
  const Tensor indices = view(results.indices, p, out, index_dtype(p), "indices");
  forward(p, {.x = x, .y = y, .indices = indices, .space = index_space(p)});
  return results;
}

Extents output_at(const Problem& p, std::span<const std::int32_t> coordinates) {
  if (coordinates.size() != static_cast<std::size_t>(p.pooled)) {
    throw Error(fmt::format("explain: output must have one number for each of {} pooled axes, but has {}", p.pooled,
                            coordinates.size()));
  }
  Extents output;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    if (coordinates[i] < 0 || coordinates[i] >= p.axis[i].out) {
      throw Error(fmt::format("explain: output must be 0 to {} along axis {}, but is {}", p.axis[i].out - 1, p.axes[i],
                              coordinates[i]));
    }
    output.push_back(coordinates[i]);
  }
  return output;
}

std::string describe(const Problem& p) {
  const cli::Json no_indices;  // null
  return cli::json_text({{"name", to_string(p)},
                         {"dtype", name(p.dtype)},
                         {"shape", cli::json_of(p.shape)},
                         {"output_shape", cli::json_of(p.output_shape)},
                         {"backward", is_gradient(p)},
                         {"index_dtype", indexed(p) ? cli::Json(name(index_dtype(p))) : no_indices}});
}

}  // namespace oriel::wasm
