// Rows of elements to rows of states, per instruction set.
#pragma once

#include "cpu/states/state.h"

namespace oriel::cpu {

/// What decides whether an element is a valid tap (S13), and what it becomes.
struct LiftRule {
  int groups = 0;
  std::array<Group, kMostGroups> group;
  bool masked = false, weighted = false, has_nodata = false, omits = false;
  bool wide_weights = false;  // f64, else f32
  alignas(8) std::array<std::byte, 8> nodata{};
  double norm = 2;

  bool all_valid() const { return !masked && !weighted && !has_nodata && !omits; }
};

/// n elements, each operand without gaps.
struct LiftRow {
  const void* x = nullptr;
  const std::uint8_t* mask = nullptr;
  const void* weights = nullptr;
  index_t n = 0;
  std::uint32_t* valid = nullptr;  // room for whether each is
  StateRow out;
};

using LiftElements = void (*)(const LiftRow& row, const LiftRule& rule);
using LiftTable = std::array<LiftElements, 16>;  // by dtype

const LiftTable& lift_elements();

}  // namespace oriel::cpu
