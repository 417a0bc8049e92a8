// Seeds of random tests: one that never changes, and a fresh one that is printed. ORIEL_SEED repeats a fresh one.
#pragma once

#include <array>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace oriel {

inline std::array<unsigned, 2> seeds() {
  const char* asked = std::getenv("ORIEL_SEED");
  const unsigned fresh = asked != nullptr ? static_cast<unsigned>(std::stoul(asked)) : std::random_device{}();
  std::cout << "fresh seed " << fresh << " (repeat with ORIEL_SEED=" << fresh << ")" << std::endl;
  return {1, fresh};
}

}  // namespace oriel
