#include "io/zarr/json.h"

#include <fmt/format.h>

#include "quoted.h"

namespace oriel::io::zarr {
namespace {

constexpr int kDeepest = 64;
const Json kNull;

}  // namespace

Json parse_object(std::string_view text, const std::string& file) {
  try {
    Json parsed = Json::parse(text, [&](int depth, Json::parse_event_t, const Json&) {
      if (depth > kDeepest) throw Error(fmt::format("{}: the JSON is nested deeper than {} levels", file, kDeepest));
      return true;
    });
    if (!parsed.is_object()) refuse(file, "JSON", parsed, "an object");
    return parsed;
  } catch (const Json::exception& e) {
    throw Error(fmt::format("{}: not valid JSON: {}", file, detail::shortened(e.what(), 200)));
  }
}

void refuse(const std::string& file, std::string_view key, const Json& value, std::string_view allowed) {
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  throw Error(fmt::format("{}: {}: {}; allowed: {}", file, key, detail::shortened(text), allowed));
}

const Json& member(const Json& object, const char* key) {
  if (!object.is_object()) return kNull;
  const auto at = object.find(key);
  return at == object.end() ? kNull : *at;
}

std::string text_of(const Json& object, const char* key, const std::string& file) {
  const Json& value = member(object, key);
  if (!value.is_string()) refuse(file, key, value, "a text");
  return value.get<std::string>();
}

Extents extents_of(const Json& object, const char* key, int rank, index_t least, const std::string& file) {
  const Json& values = member(object, key);
  if (!values.is_array() || (rank >= 0 && values.size() != static_cast<std::size_t>(rank)) || values.size() > kMaxRank)
    refuse(file, key, values, rank >= 0 ? fmt::format("a list of {}", rank) : fmt::format("at most {} axes", kMaxRank));
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  Extents extents;
  for (const Json& value : values) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most || value.get<index_t>() < least)
      refuse(file, key, values, fmt::format("integers from {}", least));
    extents.push_back(value.get<index_t>());
  }
  return extents;
}

std::string name_of(const Json& extension, std::string_view key, const std::string& file) {
  if (extension.is_string()) return extension.get<std::string>();
  const Json& name = member(extension, "name");
  if (!name.is_string()) refuse(file, key, extension, "an object with a name");
  return name.get<std::string>();
}

const Json& configuration_of(const Json& extension) { return member(extension, "configuration"); }

}  // namespace oriel::io::zarr
