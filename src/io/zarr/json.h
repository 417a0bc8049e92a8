// JSON of files that are not trusted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "oriel/types.h"

namespace oriel::io::zarr {

using Json = nlohmann::json;

/// An object of limited depth. Throws Error naming the file.
Json parse_object(std::string_view text, const std::string& file);

/// `file: key: VALUE; allowed: …`, with a value that is too long shortened.
[[noreturn]] void refuse(const std::string& file, std::string_view key, const Json& value, std::string_view allowed);

/// A member; null if it is missing.
const Json& member(const Json& object, const char* key);
/// A text, which must be there. Throws Error.
std::string text_of(const Json& object, const char* key, const std::string& file);
/// As many integers of at least `least` as `rank` says, or any number if that is negative. Throws Error.
Extents extents_of(const Json& object, const char* key, int rank, index_t least, const std::string& file);
/// The `name` and `configuration` of an extension of version 3; a text alone is a name.
std::string name_of(const Json& extension, std::string_view key, const std::string& file);
const Json& configuration_of(const Json& extension);

}  // namespace oriel::io::zarr
