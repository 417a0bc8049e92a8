#include "cli/json.h"

#include <fmt/format.h>

namespace oriel::cli {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_list(const Extents& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string json_list(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  quoted.reserve(values.size());
  for (const std::string& v : values) quoted.push_back(json_string(v));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

}  // namespace oriel::cli
