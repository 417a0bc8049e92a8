// JSON as the programs print it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "oriel/types.h"

namespace oriel::cli {

/// A value; an object's members stay in the order in which they were added. Who makes one includes <nlohmann/json.hpp>.
using Json = nlohmann::ordered_json;

/// `value` in one line, but that arrays of objects have a line for each object. Text that is not UTF-8 has U+FFFD where
/// it is not.
std::string json_text(const Json& value);

/// `value` in one line, without spaces. Text as json_text has it.
std::string json_line(const Json& value);

/// `value` to so many digits after the point.
double rounded(double value, int digits);

/// `[8, 64, 112]`.
Json json_of(const Extents& values);
/// Six significant digits suffice for what is measured or predicted; whole numbers stay whole.
Json json_of(double value, int digits = 6);

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);
/// `["a", "b"]`.
std::string json_list(const std::vector<std::string>& values);

}  // namespace oriel::cli
