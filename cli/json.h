// The few pieces of JSON that the command prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oriel/types.h"

namespace oriel::cli {

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);
/// `[8, 64, 112]`.
std::string json_list(const Extents& values);
/// `["a", "b"]`.
std::string json_list(const std::vector<std::string>& values);

}  // namespace oriel::cli
