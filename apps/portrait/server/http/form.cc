#include "apps/portrait/server/http/form.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "apps/portrait/server/http/message.h"
#include "oriel/types.h"

namespace oriel::portrait::http {
namespace {

constexpr std::size_t kMostParts = 100, kMostHeaders = 8192, kMostBoundary = 70;
constexpr std::string_view kLine = "\r\n";

[[noreturn]] void malformed(std::string_view why) { throw Error(fmt::format("the request is malformed: {}", why)); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes `"quoted \" text"` or a word up to the next semicolon from the front of `text`.
std::string take_value(std::string_view& text) {
  if (text.empty() || text.front() != '"') {
    const std::string_view word = text.substr(0, text.find(';'));
    text.remove_prefix(word.size());
    return std::string(trimmed(word));
  }
  std::string value;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\')) ++i;
    value += text[i];
  }
  if (i == text.size()) malformed("a quotation mark is not closed");
  text.remove_prefix(i + 1);
  return value;
}

// The parameter `name` of a header such as `form-data; name="file"; filename="me.png"`.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
  header.remove_prefix(std::min(header.size(), header.find(';')));
  while (!header.empty()) {
    header.remove_prefix(1);  // the semicolon
    const std::size_t equals = header.find_first_of("=;");
    const std::string_view key = trimmed(header.substr(0, equals));
    header.remove_prefix(equals == std::string_view::npos ? header.size() : equals);
    if (header.empty() || header.front() == ';') continue;
    header.remove_prefix(1);
    while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
    std::string value = take_value(header);
    if (same_word(key, name)) return value;
    header.remove_prefix(std::min(header.size(), header.find(';')));
  }
  return std::nullopt;
}

// The name in the headers of a part, which are taken from the front of `rest`.
std::string take_name(std::string_view& rest) {
  std::optional<std::string> name;
  const std::string_view before = rest;
  for (;;) {
    const std::size_t end = rest.substr(0, kMostHeaders).find(kLine);
    if (end == std::string_view::npos || before.size() - rest.size() > kMostHeaders)
      malformed("the headers of a part do not end");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + kLine.size());
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) malformed("a header of a part has no colon");
    if (!same_word(line.substr(0, colon), "content-disposition")) continue;
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!same_word(trimmed(value.substr(0, value.find(';'))), "form-data")) malformed("a part is no form-data");
    name = parameter(value, "name");
  }
  if (!name) malformed("a part has no name");
  return *name;
}

enum class After { another_part, nothing, more_content };

// What stands behind a boundary decides whether it is one; it is taken from the front of `rest`.
After take_after_boundary(std::string_view& rest) {
  if (rest.starts_with("--")) return After::nothing;
  const std::size_t padding = std::min(rest.find_first_not_of(" \t"), rest.size());
  if (!rest.substr(padding).starts_with(kLine)) return After::more_content;
  rest.remove_prefix(padding + kLine.size());
  return After::another_part;
}

}  // namespace

bool is_form(std::string_view type) {
  return same_word(trimmed(type.substr(0, type.find(';'))), "multipart/form-data");
}

std::vector<Part> parts_of(std::string_view type, std::string_view body) {
  const std::string boundary = "--" + parameter(type, "boundary").value_or("");
  if (boundary.size() < 3 || boundary.size() > 2 + kMostBoundary) malformed("its boundary has not 1 to 70 characters");
  if (!body.starts_with(boundary)) malformed("the form does not begin with its boundary");
  std::string_view rest = body.substr(boundary.size());
  After after = take_after_boundary(rest);
  if (after == After::more_content) malformed("the form does not begin with its boundary");
  const std::string between = std::string(kLine) + boundary;
  std::vector<Part> parts;
  while (after == After::another_part) {
    if (parts.size() == kMostParts) malformed(fmt::format("the form has more than {} parts", kMostParts));
    Part part{.name = take_name(rest), .content = {}};
    const char* const begin = rest.data();
    do {
      const std::size_t end = rest.find(between);
      if (end == std::string_view::npos) malformed("the form does not end with its boundary");
      part.content = {begin, static_cast<std::size_t>(rest.data() + end - begin)};
      rest.remove_prefix(end + between.size());
      after = take_after_boundary(rest);
    } while (after == After::more_content);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace oriel::portrait::http
