// Private to the server: one client and its one request.
#pragma once

#include <array>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "apps/portrait/server/http/body.h"
#include "apps/portrait/server/http/loop.h"

namespace oriel::portrait::http {

/// Reads a head, then perhaps a body, has it worked on, writes the answer, lets the client close. A connection that is
/// silent costs this object and no thread. Every state but `working` has a deadline.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// In the order in which they are given up when there are too many.
  enum class State { closing, silent, head, body, starved, working, writing, closed };

  Connection(Tcp::socket socket, Server::Loop& loop);

  void start();
  bool resume(Claim claim);  // a body that waited for memory goes on; false: there still is none
  void press();              // others wait for memory: who sends nothing loses it sooner
  void work();               // by a worker
  void answer();             // what the worker made
  /// No later than `within` from now it is all there, or given up.
  void hurry(Clock::duration within);
  void close();

  State state() const { return state_; }
  Clock::time_point deadline() const { return deadline_; }
  bool holds_body() const { return body_.holds_memory(); }

 private:
  using Error = boost::system::error_code;

  void enter(State state, Clock::duration within);
  void keep_pace(std::size_t bytes);
  Clock::duration patience() const;
  void watch();
  void too_late();
  void read_head();
  void got_head();
  void begin_body();
  void read_body();
  bool grow(Claim claim);  // false: there is no memory; it may have been answered
  void reply(Reply reply);
  void release_reply();
  void write();
  void let_client_close();
  void discard();

  Server::Loop& loop_;
  Tcp::socket socket_;
  asio::steady_timer timer_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point last_moment_ = Clock::time_point::max();  // of all reading, when the server stops
  State state_ = State::silent;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::request_parser<boost::beast::http::empty_body> parser_;
  Head head_;
  Body body_;
  bool keeps_body_out_ = false;  // the client may still be sending what nobody reads
  Reply made_;
  std::string reply_head_;
  std::size_t reply_bytes_ = 0, discarded_ = 0;
  boost::beast::buffers_suffix<std::array<asio::const_buffer, 2>> rest_;
};

}  // namespace oriel::portrait::http
