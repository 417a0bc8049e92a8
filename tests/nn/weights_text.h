// Files of weights as tests write them, byte by byte, and what they are refused with.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oriel/nn/weights.h"

namespace oriel::nn {

/// A safetensors file: the length of `header`, `header`, `data`.
std::string safetensors(std::string_view header, std::string_view data);
/// The weights in bytes, which the result keeps.
Weights parse(const std::string& bytes);
/// The text of the Error that f throws; fails the test when it throws none, or one of several lines.
std::string error_of(const std::function<void()>& f);
std::string error_of_file(const std::string& bytes);
/// What write_safetensors writes.
std::string written(const Weights& weights);

using Entries = std::vector<std::pair<std::string, std::string>>;
/// A zip archive with stored entries.
std::string zip(const Entries& entries, bool compressed = false);

}  // namespace oriel::nn
