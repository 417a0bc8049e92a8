// Text from outside, made fit for an error message.
#pragma once

#include <string>
#include <string_view>

namespace oriel::detail {

/// `text` with `?` for whatever is not printable ASCII.
inline std::string ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

/// At most `most` characters of `text`, all printable ASCII; `...` stands for more.
inline std::string shortened(std::string_view text, std::size_t most = 100) {
  return ascii(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

/// The same in quotes.
inline std::string quoted(std::string_view text, std::size_t most = 40) { return "'" + shortened(text, most) + "'"; }

/// `text` in one line that does nothing to a terminal: `instead` for every control character. Other letters stay.
inline std::string printable(std::string_view text, char instead = '?') {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : '\0';
    const bool second_set = c == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F in UTF-8
    out += c < ' ' || c == 0x7f || second_set ? instead : text[i];
    if (second_set) ++i;
  }
  return out;
}

}  // namespace oriel::detail
