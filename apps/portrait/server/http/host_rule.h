// Which names a server answers to, and which pages may use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oriel::portrait::http {

/// A name of the Domain Name System or an address, in the one form in which they are compared: small letters, no port,
/// addresses as the system writes them; nothing for what is neither. `[::1]:7000` is `::1`.
std::optional<std::string> plain_host(std::string_view authority);

/// A page of any name can be made to lead here (DNS rebinding), and a page of any origin can send here; so requests are
/// answered only under names that whoever started the server gave it, and only for this server's own pages.
class HostRule {
 public:
  /// `host` is what the server listens on and `addresses` what that resolves to; `further` names are allowed too, also
  /// as origins (behind a proxy that changes Host). `localhost`, 127.0.0.1 and ::1 always are.
  HostRule(const std::string& host, const std::vector<std::string>& addresses, const std::vector<std::string>& further);

  /// Whether a request with this Host is answered; `came_to` is the address that its connection was made to.
  bool allows(std::string_view host, std::string_view came_to) const;
  /// Whether a request of a page of this Origin is answered: none, that of the Host, or one that was named.
  bool allows_origin(std::string_view origin, std::string_view host) const;
  /// For messages: `localhost`, `localhost, 192.168.0.9, studio.example`.
  std::string names() const;

 private:
  std::vector<std::string> names_, further_;
};

}  // namespace oriel::portrait::http
