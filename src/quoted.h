// Text from outside, made fit for an error message.
#pragma once

#include <string>
#include <string_view>

namespace oriel::detail {

/// `text` in quotes: at most 40 characters, all printable.
inline std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 40 ? "...'" : "'");
}

/// `text` in one line that does nothing to a terminal: `?` for every control character. Other letters stay.
inline std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : '\0';
    const bool second_set = c == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F in UTF-8
    out += c < ' ' || c == 0x7f || second_set ? '?' : text[i];
    if (second_set) ++i;
  }
  return out;
}

}  // namespace oriel::detail
