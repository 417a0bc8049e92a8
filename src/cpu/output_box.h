// A part of a plane's outputs.
#pragma once

#include <array>

#include "cpu/layout.h"

namespace oriel::cpu {

/// Outputs along each pooled axis, and lanes.
struct OutputBox {
  std::array<Range, kMaxPooledAxes> outputs;
  Range lanes;
};

}  // namespace oriel::cpu
