// An HTTP/1.1 server that slow and silent clients cannot stop: one thread reads whole requests and writes whole
// replies, under deadlines and limits; a fixed number of others works on them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/portrait/server/http/message.h"

namespace oriel::portrait::http {

struct Limits {
  std::size_t head_bytes = 16'384;  ///< of a request's line and headers
  std::size_t body_bytes = 25'000'000;
  /// Bodies that are held take at most this many times body_bytes together (and one more, if nothing moves otherwise);
  /// the clients of others wait. While replies that nobody fetches take as much, no further request is worked on.
  std::size_t bodies = 16;
  std::size_t connections =
      1000;         ///< more make those end that have sent least; fewer if the process may not have so many
  int workers = 1;  ///< requests that are worked on at a time
  /// Within this time a request's head is there, and a client is never further behind `least_rate` than it.
  double seconds = 20;
  double least_rate = 16'000;  ///< bytes a second of a body or of a reply
  double stop_reading = 5;     ///< seconds after the first signal until requests that are not there are given up
  double stop = 30;            ///< and until all are
};

/// Who answers. Both are called with a well-formed request and must not throw.
struct Site {
  /// From its head alone, at once, on the thread that serves all: an answer, or nothing for a body that is to be read
  /// and worked on. (A POST without a length, and one that is too long, are refused before.)
  std::function<std::optional<Reply>(const Head&)> admit;
  /// The answer to a request whose body was read; called by `workers` threads.
  std::function<Reply(const Head&, std::string_view body)> work;
};

/// A server that listens from its construction on.
class Server {
 public:
  /// Port 0 is one that is free. Throws Error when it cannot listen there.
  Server(const std::string& host, int port, const Limits& limits);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  int port() const;
  const std::vector<std::string>& addresses() const;  ///< that the host stands for

  /// Answers until SIGINT or SIGTERM comes, then ends what was begun. Returns the number of requests that were being
  /// worked on when the time for that was over: their threads still run, and the process can only be ended. A second
  /// signal ends the process at once, as it does where nobody handles it.
  std::size_t run(const Site& site);

 private:
  class Loop;
  friend class Body;
  friend class Connection;
  std::unique_ptr<Loop> loop_;
};

}  // namespace oriel::portrait::http
