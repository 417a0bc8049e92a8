#include "io/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "oriel/types.h"
#include "quoted.h"

namespace oriel::io {
namespace {

struct Method {
  std::string_view name;
  Compression::Kind kind;
  int least, most, level;  // the last: if none is given
};
using Kind = Compression::Kind;
constexpr std::array kMethods{Method{"none", Kind::none, 0, 0, 0}, Method{"gzip", Kind::gzip, 0, 9, 6},
                              Method{"zstd", Kind::zstd, 1, 19, 3}, Method{"blosc", Kind::blosc, 0, 9, 5}};
constexpr std::array<std::string_view, 5> kCompressors{"lz4", "lz4hc", "blosclz", "zlib", "zstd"};

// Takes what comes before the next colon away from `text`.
std::string_view next(std::string_view& text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
  return word;
}

std::optional<Compression> parse(std::string_view text) {
  if (text.ends_with(':')) return std::nullopt;
  const std::string_view word = next(text);
  const auto* const method =
      std::find_if(kMethods.begin(), kMethods.end(), [&](const Method& m) { return m.name == word; });
  if (method == kMethods.end()) return std::nullopt;
  Compression made{.kind = method->kind, .level = method->level, .compressor = ""};
  if (made.kind == Kind::blosc) {
    made.compressor = text.empty() ? kCompressors[0] : next(text);
    if (std::find(kCompressors.begin(), kCompressors.end(), made.compressor) == kCompressors.end()) return std::nullopt;
  }
  if (text.empty()) return made;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), made.level);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || made.kind == Kind::none || made.level < method->least || made.level > method->most) return std::nullopt;
  return made;
}

}  // namespace

Compression parse_compression(std::string_view option, std::string_view text) {
  const std::optional<Compression> made = parse(text);
  if (!made) throw Error(fmt::format("{}: {}; allowed: {}", option, detail::quoted(text), kCompressions));
  return *made;
}

}  // namespace oriel::io
