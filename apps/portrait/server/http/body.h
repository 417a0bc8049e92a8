// Private to the server: the body of one request.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <string_view>

#include "apps/portrait/server/http/loop.h"
#include "apps/portrait/server/http/pages.h"

namespace oriel::portrait::http {

/// What came of a body, in memory that all bodies share. Memory is taken as it is filled: who announces a body and does
/// not send it holds none.
class Body {
 public:
  explicit Body(Server::Loop& loop) : loop_(loop) {}

  void expect(std::size_t length) { length_ = length; }
  std::size_t length() const { return length_; }
  bool whole() const { return got_ == length_; }
  bool full() const { return got_ == pages_.size(); }
  bool holds_memory() const { return pages_.size() > 0; }
  std::string_view text() const { return {pages_.data(), got_}; }

  enum class Grown { yes, must_wait, no_memory };
  Grown grow(Claim claim);
  /// Where the next bytes go, and that `count` of them came.
  asio::mutable_buffer room() { return asio::buffer(pages_.data() + got_, pages_.size() - got_); }
  void came(std::size_t count) { got_ += count; }
  /// Moves what there is room for.
  void take(boost::beast::flat_buffer& from);
  void release();

 private:
  Server::Loop& loop_;
  std::size_t length_ = 0, got_ = 0;
  Pages pages_;
};

}  // namespace oriel::portrait::http
