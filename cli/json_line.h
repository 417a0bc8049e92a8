// JSON objects as lines of output.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace oriel::cli {

/// `object` as one line. What is no UTF-8, as names of files may be, becomes U+FFFD.
inline std::string json_line(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

/// `value` to so many digits after the point.
inline double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

}  // namespace oriel::cli
