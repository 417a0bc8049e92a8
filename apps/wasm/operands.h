// The tensors of a call from JavaScript: memory whose size is checked against a problem's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "oriel/problem.h"

namespace oriel::wasm {

/// What a caller gives; what is not given is empty.
struct Given {
  std::span<std::byte> x, dy, indices;
};

/// What comes out of a pool; `indices` are there if the problem has them and is not a gradient.
struct Results {
  std::vector<std::byte> values, indices;
};

/// Pools: forward from x; the gradient from dy and, if the name has `indices` or `codes`, from these, else from x.
/// Throws Error if an operand is missing, not wanted, or has another size than the problem says.
Results pool(const Problem& problem, const Given& given);

/// Element types and shapes of what `pool` takes and gives, as JSON.
std::string describe(const Problem& problem);

/// The output at these coordinates, one along each pooled axis. Throws Error if there is none.
Extents output_at(const Problem& problem, std::span<const std::int32_t> coordinates);

}  // namespace oriel::wasm
