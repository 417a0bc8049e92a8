// What is done with bytes that may be a file of weights.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "oriel/nn/unet.h"

namespace oriel::nn {

template <class F>
void expect_one_line(F f) {
  try {
    f();
  } catch (const Error& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();
  }
}

// Views of no memory to speak of may have any extent where a stride is zero: those are not written out.
inline bool is_small(const Weights& weights) {
  constexpr index_t kMost = 1 << 16;
  index_t elements = 0;
  for (const auto& [name, tensor] : weights.tensors()) {
    index_t count = 1;
    for (index_t extent : tensor.shape) count = std::min(kMost + 1, count * std::min(extent, kMost + 1));
    elements = std::min(kMost + 1, elements + count);
  }
  return elements <= kMost;
}

inline void read_whole(std::span<const std::byte> bytes) {
  expect_one_line([&] {
    const Weights weights = Weights::parse(bytes, nullptr, "file");
    expect_one_line([&] { describe(weights); });
    if (!is_small(weights)) return;
    std::vector<std::byte> file;
    const WriteBytes write = [&](const void* from, std::size_t count) {
      const auto* const begin = static_cast<const std::byte*>(from);
      file.insert(file.end(), begin, begin + count);
    };
    // A .pth may name a tensor as safetensors names its metadata.
    if (weights.find("__metadata__") != nullptr) return;
    try {
      write_safetensors(weights, write);
    } catch (const Error&) {  // a name that is no UTF-8
      if (weights.format() == "safetensors") __builtin_trap();
      return;
    }
    const Weights again = Weights::parse(file, nullptr, "again");
    if (again.tensors().size() != weights.tensors().size() || again.metadata() != weights.metadata()) __builtin_trap();
  });
}

}  // namespace oriel::nn
