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

}  // namespace oriel::detail
