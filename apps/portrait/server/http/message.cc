#include "apps/portrait/server/http/message.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "quoted.h"

namespace oriel::portrait::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

void read_target(std::string_view target, Head& head) {
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  head.path = decoded(target.substr(0, mark), false);
  std::string_view query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    if (!pair.empty()) head.parameters[decoded(pair.substr(0, equals), true)] = decoded(value, true);
  }
}

std::string error_json(std::string_view text) { return cli::json_line({{"error", detail::ascii(text)}}); }

Reply refusal(int status, std::string_view text) { return {.status = status, .body = error_json(text)}; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = lower(c);
  return small;
}

}  // namespace oriel::portrait::http
