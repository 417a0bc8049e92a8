// What the server answers: the page, the interface, and refusals.
#pragma once

#include <atomic>
#include <optional>
#include <string_view>

#include "apps/portrait/server/http/host_rule.h"
#include "apps/portrait/server/http/message.h"
#include "apps/portrait/server/remove_api.h"

namespace oriel::portrait {

/// The site of `oriel-portrait serve`. Its functions may be called by several threads at once, and never throw.
class Site {
 public:
  /// `most_megabytes` is what /api/health says of the largest upload.
  Site(RemoveApi& api, http::HostRule rule, int most_megabytes)
      : api_(api), rule_(std::move(rule)), most_megabytes_(most_megabytes) {}

  /// The answer to everything but pictures, from the head of a request; nothing for a picture, whose body is needed.
  std::optional<http::Reply> admit(const http::Head& head) const;
  /// The answer to a request with its body.
  http::Reply work(const http::Head& head, std::string_view body);

 private:
  http::Reply health() const;
  http::Reply models() const;
  http::Reply remove(const http::Head& head, std::string_view body);

  RemoveApi& api_;
  http::HostRule rule_;
  int most_megabytes_;
  std::atomic<index_t> served_{0};
};

}  // namespace oriel::portrait
