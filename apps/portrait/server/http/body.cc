#include "apps/portrait/server/http/body.h"

#include <algorithm>

namespace oriel::portrait::http {

namespace {

constexpr std::size_t kFirst = 65'536;

}  // namespace

Body::Grown Body::grow(Claim claim) {
  std::size_t wanted = std::min(length_, std::max(kFirst, 2 * pages_.size()));
  if (claim == Claim::beyond_limit) wanted = length_;  // or it would stop again, and another go beyond the limit too
  if (!loop_.take_memory(wanted - pages_.size(), claim)) return Grown::must_wait;
  if (pages_.grow(wanted)) return Grown::yes;
  loop_.give_memory(wanted - pages_.size());
  return Grown::no_memory;
}

void Body::take(boost::beast::flat_buffer& from) {
  const std::size_t count = asio::buffer_copy(room(), from.data());
  from.consume(count);
  came(count);
}

void Body::release() {
  const std::size_t held = pages_.size();
  pages_.free();
  got_ = 0;
  if (held > 0) loop_.give_memory(held);
}

}  // namespace oriel::portrait::http
