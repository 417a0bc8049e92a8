#include "apps/portrait/server/http/loop.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <tuple>

#include "apps/portrait/server/http/connection.h"
#include "oriel/types.h"

namespace oriel::portrait::http {

using Code = boost::system::error_code;

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Server::Loop::Loop(const std::string& host, int port, const Limits& limits) : limits_(limits) {
  fit_connections();
  listen(host, port);
  signals_.add(SIGINT);  // one that comes before run() waits for it
  signals_.add(SIGTERM);
}

Server::Loop::~Loop() = default;

// As many as asked for, if the process may have so many descriptors; some are for everything else.
void Server::Loop::fit_connections() {
  constexpr rlim_t others = 64;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t wanted = limits_.connections + others;
  if (files.rlim_cur < wanted) {
    files.rlim_cur = std::min(wanted, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur < wanted) limits_.connections = files.rlim_cur > 2 * others ? files.rlim_cur - others : others;
}

void Server::Loop::listen(const std::string& host, int port) {
  Code failed;
  Tcp::resolver resolver(io_);
  const auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive, failed);
  if (failed) throw Error(fmt::format("--host {} --port {}: cannot listen there", host, port));
  for (const auto& entry : found) addresses_.push_back(entry.endpoint().address().to_string());
  for (const auto& entry : found) {
    acceptor_ = Tcp::acceptor(io_);
    acceptor_.open(entry.endpoint().protocol(), failed);
    // A port whose last connections are still closing is free; one that another listens on is not.
    if (!failed) acceptor_.set_option(Tcp::acceptor::reuse_address(true), failed);
    if (!failed) acceptor_.bind(entry.endpoint(), failed);
    if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    if (!failed) return;
  }
  throw Error(fmt::format("--host {} --port {}: cannot listen there", host, port));
}

std::size_t Server::Loop::run(const Site& site) {
  site_ = &site;
  workers_ = std::make_unique<asio::thread_pool>(static_cast<std::size_t>(limits_.workers));
  await_signal();
  accept();
  for (;;) try {
      io_.run();
      break;
    } catch (const std::bad_alloc&) {  // that connection ends at its deadline
    }
  if (working_ > 0) return static_cast<std::size_t>(working_) + ready_.size();
  workers_->join();
  return 0;
}

void Server::Loop::accept() {
  acceptor_.async_accept([this](const Code& failed, Tcp::socket socket) {
    if (failed == asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!failed) {
      accepted(std::move(socket));
      return accept();
    }
    if (failed != asio::error::no_descriptors || !make_room()) {  // try again, but not without end in one moment
      pause_.expires_after(std::chrono::milliseconds(20));
      return pause_.async_wait([this](const Code& ended) {
        if (!ended && acceptor_.is_open()) accept();
      });
    }
    accept();
  });
}

void Server::Loop::accepted(Tcp::socket socket) {
  if (connections_.size() >= limits_.connections && !make_room()) return;  // which closes it
  const auto connection = std::make_shared<Connection>(std::move(socket), *this);
  connections_.insert(connection);
  connection->start();
}

// Ends the connection that has sent least: of the earliest state, the one nearest to its deadline.
bool Server::Loop::make_room() {
  const auto order = [](const ConnectionPtr& c) { return std::tuple(c->state(), c->deadline()); };
  const auto least = std::min_element(connections_.begin(), connections_.end(),
                                      [&](const auto& a, const auto& b) { return order(a) < order(b); });
  if (least == connections_.end() || (*least)->state() >= Connection::State::working) return false;
  const ConnectionPtr given_up = *least;
  given_up->close();
  return true;
}

bool Server::Loop::take_memory(std::size_t bytes, Claim claim) {
  const bool fits = bodies_held_ + bytes <= limits_.bodies * limits_.body_bytes;
  const bool turn = waiting_.empty() || claim != Claim::newcomer;
  if (claim != Claim::beyond_limit && !(fits && turn)) return false;
  bodies_held_ += bytes;
  return true;
}

void Server::Loop::wait_for_memory(const ConnectionPtr& waits) {
  waiting_.push_back(waits);
  if (waiting_.size() == 1)
    for (const ConnectionPtr& connection : connections_) connection->press();
  resume_waiting();
}

void Server::Loop::give_memory(std::size_t bytes) {
  bodies_held_ -= bytes;
  if (!waiting_.empty()) asio::post(io_, [this] { resume_waiting(); });
}

// Those that wait go on in their order. If nobody else who holds a body can come to an end, the first goes on beyond
// the limit: it, and so all, get done.
void Server::Loop::resume_waiting() {
  const auto resume_first = [this](Claim claim) {
    const ConnectionPtr first = waiting_.front();
    if (first->state() == Connection::State::starved && !first->resume(claim)) return false;
    waiting_.pop_front();
    return true;
  };
  while (!waiting_.empty() && resume_first(Claim::first_in_line)) {
  }
  const auto moves = [](const ConnectionPtr& c) { return c->holds_body() && c->state() != Connection::State::starved; };
  if (!waiting_.empty() && std::none_of(connections_.begin(), connections_.end(), moves))
    resume_first(Claim::beyond_limit);
}

void Server::Loop::work_on(const ConnectionPtr& whole) {
  ready_.push_back(whole);
  start_work();
}

void Server::Loop::start_work() {
  while (!ready_.empty() && working_ < limits_.workers && replies_held_ <= limits_.bodies * limits_.body_bytes) {
    const ConnectionPtr next = ready_.front();
    ready_.pop_front();
    ++working_;
    asio::post(*workers_, [this, next] {
      next->work();
      asio::post(io_, [this, next] {
        --working_;
        next->answer();
        start_work();
      });
    });
  }
}

void Server::Loop::hold_reply(std::size_t bytes) { replies_held_ += bytes; }

void Server::Loop::release_reply(std::size_t bytes) {
  replies_held_ -= bytes;
  if (!ready_.empty()) asio::post(io_, [this] { start_work(); });
}

void Server::Loop::forget(const ConnectionPtr& connection) {
  connections_.erase(connection);
  if (!waiting_.empty()) asio::post(io_, [this] { resume_waiting(); });
  end_when_done();
}

void Server::Loop::await_signal() {
  signals_.async_wait([this](const Code& ended, int signal) {
    if (ended) return;
    if (stopping_) {
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    }
    await_signal();
    stop();
  });
}

void Server::Loop::stop() {
  stopping_ = true;
  acceptor_.close();
  pause_.cancel();
  const std::vector<ConnectionPtr> all(connections_.begin(), connections_.end());
  for (const ConnectionPtr& connection : all) connection->hurry(seconds_of(limits_.stop_reading));
  last_.expires_after(seconds_of(limits_.stop));
  last_.async_wait([this](const Code& ended) {
    if (!ended) io_.stop();
  });
  end_when_done();
}

void Server::Loop::end_when_done() {
  if (!stopping_ || !connections_.empty()) return;
  last_.cancel();
  signals_.cancel();
}

Server::Server(const std::string& host, int port, const Limits& limits)
    : loop_(std::make_unique<Loop>(host, port, limits)) {}
Server::~Server() = default;
int Server::port() const { return loop_->port(); }
const std::vector<std::string>& Server::addresses() const { return loop_->addresses(); }
std::size_t Server::run(const Site& site) { return loop_->run(site); }

}  // namespace oriel::portrait::http
