#include "cli/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "real_number.h"

namespace oriel::cli {
namespace {

// A number, a text, a truth value or nothing.
std::string plain(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void append(const Json& value, std::size_t indent, std::string& out) {
  if (!value.is_structured()) {
    out += plain(value);
    return;
  }
  const bool is_object = value.is_object();
  const bool lines = !is_object && !value.empty() && value.front().is_object();
  const std::string begin = lines ? "\n" + std::string(indent + 2, ' ') : "";
  const char* comma = "";
  out += is_object ? '{' : '[';
  for (const auto& [key, item] : value.items()) {
    out += comma + begin;
    if (is_object) out += plain(key) + ": ";
    append(item, indent + 2, out);
    comma = lines ? "," : ", ";
  }
  if (lines) out += "\n" + std::string(indent, ' ');
  out += is_object ? '}' : ']';
}

}  // namespace

std::string json_text(const Json& value) {
  std::string out;
  append(value, 0, out);
  return out + '\n';
}

std::string json_line(const Json& value) { return plain(value) + '\n'; }

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

Json json_of(const Extents& values) {
  Json list = Json::array();
  for (const index_t value : values) list.push_back(value);
  return list;
}

Json json_of(double value, int digits) {
  constexpr double most = 9007199254740992;  // 2^53: to here doubles are exact
  if (value >= -most && value <= most && value == static_cast<double>(static_cast<index_t>(value)))
    return static_cast<index_t>(value);
  const std::string text = fmt::format("{:.{}g}", value, digits);
  double parsed = value;  // what is not finite stays, and is printed as null
  detail::read_real(text, parsed);
  return parsed;
}

std::string json_string(std::string_view text) { return plain(Json(text)); }

std::string json_list(const std::vector<std::string>& values) {
  std::string text = json_text(Json(values));
  text.pop_back();
  return text;
}

}  // namespace oriel::cli
