#include "apps/portrait/server/http/host_rule.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "apps/portrait/server/http/message.h"

namespace oriel::portrait::http {
namespace {

constexpr std::array<std::string_view, 3> kHere = {"localhost", "127.0.0.1", "::1"};

bool holds(const auto& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// An address in the form in which the system writes it, IPv4 in IPv6 as IPv4.
std::optional<std::string> plain_address(const std::string& text, int family) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (::inet_pton(family, text.c_str(), bytes.data()) != 1) return std::nullopt;
  const void* from = bytes.data();
  constexpr std::array<unsigned char, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (family == AF_INET6 && std::equal(mapped.begin(), mapped.end(), bytes.begin())) {
    family = AF_INET;
    from = bytes.data() + mapped.size();
  }
  if (::inet_ntop(family, from, out.data(), out.size()) == nullptr) return std::nullopt;
  return std::string(out.data());
}

bool is_port(std::string_view text) {
  return text.empty() || (text[0] == ':' && text.size() <= 6 &&
                          std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

// An authority with the port that its scheme means anyway left out, small letters.
std::string plain_authority(std::string_view authority, std::string_view usual_port) {
  if (authority.ends_with(usual_port)) authority.remove_suffix(usual_port.size());
  return lower(authority);
}

}  // namespace

std::optional<std::string> plain_host(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos || !is_port(authority.substr(end + 1))) return std::nullopt;
    return plain_address(std::string(authority.substr(1, end - 1)), AF_INET6);
  }
  const std::size_t colon = std::min(authority.find(':'), authority.size());
  if (!is_port(authority.substr(colon))) return std::nullopt;
  const std::string name = lower(authority.substr(0, colon));
  if (auto address = plain_address(name, AF_INET)) return address;
  if (!is_name(name)) return std::nullopt;
  return name;
}

HostRule::HostRule(const std::string& host, const std::vector<std::string>& addresses,
                   const std::vector<std::string>& further) {
  const auto add = [](std::vector<std::string>& list, const std::string& name) {
    const bool six = name.find(':') != std::string::npos && !name.starts_with('[');
    const auto plain = plain_host(six ? "[" + name + "]" : name);
    if (plain && !holds(list, *plain)) list.push_back(*plain);
  };
  add(names_, host);
  for (const std::string& address : addresses) add(names_, address);
  for (const std::string& name : further) {
    add(names_, name);
    add(further_, name);
  }
  std::erase_if(names_, [](const std::string& name) { return holds(kHere, name); });
}

bool HostRule::allows(std::string_view host, std::string_view came_to) const {
  const auto plain = plain_host(host);
  if (!plain) return false;
  const bool six = came_to.find(':') != std::string_view::npos;
  return holds(kHere, *plain) || holds(names_, *plain) ||
         plain == plain_host(six ? fmt::format("[{}]", came_to) : std::string(came_to));
}

bool HostRule::allows_origin(std::string_view origin, std::string_view host) const {
  if (origin.empty()) return true;
  for (const auto& [scheme, port] :
       {std::pair<std::string_view, std::string_view>{"http://", ":80"}, {"https://", ":443"}}) {
    if (!same_word(origin.substr(0, scheme.size()), scheme)) continue;
    const std::string_view authority = origin.substr(scheme.size());
    const auto name = plain_host(authority);
    return name && (plain_authority(authority, port) == plain_authority(host, port) || holds(further_, *name));
  }
  return false;
}

std::string HostRule::names() const {
  return names_.empty() ? "localhost" : fmt::format("localhost, {}", fmt::join(names_, ", "));
}

}  // namespace oriel::portrait::http
