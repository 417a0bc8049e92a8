// Files of weights as tests write them, byte by byte, and what they are refused with.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oriel/nn/weights.h"
#include "support.h"

namespace oriel::nn {

using test::error_of;

/// A safetensors file: the length of `header`, `header`, `data`.
std::string safetensors(std::string_view header, std::string_view data);
/// The weights in bytes, which the result keeps.
Weights parse(const std::string& bytes);
/// What such a file is refused with.
std::string error_of_file(const std::string& bytes);
/// What write_safetensors writes.
std::string written(const Weights& weights);

using Entries = std::vector<std::pair<std::string, std::string>>;
/// A zip archive with stored entries.
std::string zip(const Entries& entries, bool compressed = false);

}  // namespace oriel::nn
