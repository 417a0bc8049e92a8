// Private to the server: what its connections share.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <deque>
#include <unordered_set>

#include "apps/portrait/server/http/server.h"

namespace oriel::portrait::http {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
class Connection;
using ConnectionPtr = std::shared_ptr<Connection>;

/// Who wants memory for a body.
enum class Claim { newcomer, first_in_line, beyond_limit };

/// The given seconds as the clock's.
Clock::duration seconds_of(double seconds);

/// Everything here happens on the one thread that runs it, but for Site::work.
class Server::Loop {
 public:
  Loop(const std::string& host, int port, const Limits& limits);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  std::size_t run(const Site& site);
  int port() const { return acceptor_.local_endpoint().port(); }
  const std::vector<std::string>& addresses() const { return addresses_; }

  // What connections call.
  const Limits& limits() const { return limits_; }
  const Site& site() const { return *site_; }
  bool take_memory(std::size_t bytes, Claim claim);  // for a body; false: it must wait for it
  void wait_for_memory(const ConnectionPtr& waits);  // its resume() is called when there is some
  void give_memory(std::size_t bytes);
  bool short_of_memory() const { return !waiting_.empty(); }
  void work_on(const ConnectionPtr& whole);  // its work() is called by a worker, and then its answer()
  void hold_reply(std::size_t bytes);        // until
  void release_reply(std::size_t bytes);     // is called
  void forget(const ConnectionPtr& connection);
  asio::mutable_buffer nowhere() { return asio::buffer(nowhere_); }  // what is read into it is not looked at

 private:
  void listen(const std::string& host, int port);
  void fit_connections();
  void accept();
  void accepted(Tcp::socket socket);
  bool make_room();
  void resume_waiting();
  void start_work();
  void await_signal();
  void stop();
  void end_when_done();

  Limits limits_;
  const Site* site_ = nullptr;
  asio::io_context io_{1};
  Tcp::acceptor acceptor_{io_};
  asio::signal_set signals_{io_};
  asio::steady_timer pause_{io_}, last_{io_};
  std::vector<std::string> addresses_;
  std::unordered_set<ConnectionPtr> connections_;
  std::deque<ConnectionPtr> waiting_, ready_;
  std::size_t bodies_held_ = 0, replies_held_ = 0;
  int working_ = 0;
  bool stopping_ = false;
  std::unique_ptr<asio::thread_pool> workers_;
  std::array<char, 65536> nowhere_{};
};

}  // namespace oriel::portrait::http
