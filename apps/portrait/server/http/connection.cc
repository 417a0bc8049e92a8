#include "apps/portrait/server/http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace oriel::portrait::http {

namespace beast = boost::beast;
using Field = beast::http::field;

namespace {

constexpr std::size_t kHeadPiece = 1'024;
constexpr auto kFarewell = std::chrono::seconds(2);  // for a client that has its answer to close

std::string field(const beast::http::fields& fields, Field name) {
  const auto at = fields.find(name);
  return at == fields.end() ? std::string() : std::string(at->value());
}

std::string head_of(const Reply& reply) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", reply.status,
                  std::string(beast::http::obsolete_reason(static_cast<beast::http::status>(reply.status))));
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head + fmt::format(
                    "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nContent-Type: {}\r\n"
                    "Content-Length: {}\r\nConnection: close\r\n\r\n",
                    reply.type, reply.body.size());
}

// Reads a head. What could be understood in two ways (where a request ends, whom it is for) is refused.
std::optional<Reply> refuse_head(const beast::http::request_header<>& asked, Head& head) {
  const auto once = [&](Field name) { return asked.count(name) <= 1; };
  if ((asked.version() != 10 && asked.version() != 11) || !once(Field::content_length) || !once(Field::host) ||
      !once(Field::origin) || !once(Field::content_type))
    return refusal(400, "the request is malformed");
  if (asked.count(Field::transfer_encoding) > 0)  // nothing would bound such a body
    return refusal(411, "Content-Length: it is missing");
  head.method = std::string(asked.method_string());
  read_target({asked.target().data(), asked.target().size()}, head);
  head.host = field(asked, Field::host);
  head.origin = field(asked, Field::origin);
  head.type = field(asked, Field::content_type);
  return std::nullopt;
}

}  // namespace

Connection::Connection(Tcp::socket socket, Server::Loop& loop)
    : loop_(loop), socket_(std::move(socket)), timer_(socket_.get_executor()), body_(loop) {
  parser_.header_limit(static_cast<std::uint32_t>(loop.limits().head_bytes));
  parser_.body_limit(std::numeric_limits<std::uint64_t>::max());  // read here, not by it; 1.74 takes `none` for 0
}

void Connection::start() {
  Error ignored;
  socket_.set_option(Tcp::no_delay(true), ignored);
  head_.came_to = socket_.local_endpoint(ignored).address().to_string();
  enter(State::silent, seconds_of(loop_.limits().seconds));
  read_head();
}

void Connection::enter(State state, Clock::duration within) {
  state_ = state;
  deadline_ = Clock::now() + within;
  if (state < State::working) deadline_ = std::min(deadline_, last_moment_);
  watch();
}

// Each byte puts the deadline off by its share of a second, never further than a silent client has.
void Connection::keep_pace(std::size_t bytes) {
  const Limits& limits = loop_.limits();
  const auto later = deadline_ + seconds_of(static_cast<double>(bytes) / limits.least_rate);
  deadline_ = std::min(later, Clock::now() + patience());
  if (state_ < State::working) deadline_ = std::min(deadline_, last_moment_);
}

// How long a client may be silent. Where memory is short a body that does not come keeps it from others.
Clock::duration Connection::patience() const {
  const Clock::duration usual = seconds_of(loop_.limits().seconds);
  return state_ == State::body && loop_.short_of_memory() ? usual / 10 : usual;
}

void Connection::press() {
  if (state_ != State::body) return;
  deadline_ = std::min(deadline_, Clock::now() + patience());
  watch();
}

void Connection::watch() {
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](const Error& ended) {
    if (ended || self->state_ == State::closed || self->state_ == State::working) return;
    if (Clock::now() < self->deadline_) return self->watch();
    self->too_late();
  });
}

void Connection::too_late() {
  if (state_ != State::head && state_ != State::body && state_ != State::starved) return close();
  const Limits& limits = loop_.limits();
  reply(refusal(408, fmt::format("the request came too slowly; allowed: its headers within {:g} s, then at least {:g} "
                                 "bytes a second",
                                 limits.seconds, limits.least_rate)));
}

void Connection::hurry(Clock::duration within) {
  last_moment_ = Clock::now() + within;
  if (state_ == State::silent) return close();
  if (state_ == State::closing) within = std::min<Clock::duration>(within, std::chrono::seconds(1));
  if (state_ >= State::working) return;
  deadline_ = std::min(deadline_, Clock::now() + within);
  watch();
}

void Connection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  Error ignored;
  socket_.close(ignored);
  timer_.cancel();
  body_.release();
  release_reply();
  loop_.forget(shared_from_this());
}

void Connection::read_head() {
  socket_.async_read_some(buffer_.prepare(kHeadPiece), [self = shared_from_this()](const Error& failed, std::size_t n) {
    if (self->state_ > State::head) return;
    if (failed) return self->close();
    self->state_ = State::head;
    self->buffer_.commit(n);
    Error wrong;
    const std::size_t used = self->parser_.put(self->buffer_.data(), wrong);
    self->buffer_.consume(used);
    if (wrong == beast::http::error::header_limit)
      return self->reply(
          refusal(431, fmt::format("the request's headers are larger than {} bytes", self->loop_.limits().head_bytes)));
    if (wrong && wrong != beast::http::error::need_more) return self->reply(refusal(400, "the request is malformed"));
    if (!self->parser_.is_header_done()) return self->read_head();
    self->got_head();
  });
}

void Connection::got_head() {
  keeps_body_out_ = true;
  if (std::optional<Reply> refused = refuse_head(parser_.get(), head_)) return reply(std::move(*refused));
  keeps_body_out_ = parser_.content_length().value_or(0) > 0;
  if (std::optional<Reply> reply_now = loop_.site().admit(head_)) return reply(std::move(*reply_now));
  const auto length = parser_.content_length();
  if (!length) return reply(refusal(411, "Content-Length: it is missing"));
  if (*length > loop_.limits().body_bytes) return reply(refusal(413, "the request is larger than this server accepts"));
  body_.expect(static_cast<std::size_t>(*length));
  keeps_body_out_ = false;
  begin_body();
}

void Connection::begin_body() {
  const auto& asked = parser_.get();
  const bool asks_first = asked.version() == 11 && same_word(field(asked, Field::expect), "100-continue");
  state_ = State::body;
  enter(state_, patience());
  if (!asks_first || body_.length() == 0 || buffer_.size() > 0) return read_body();
  static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_, asio::buffer(go_on), [self = shared_from_this()](const Error& failed, std::size_t) {
    if (self->state_ != State::body) return;
    if (failed) return self->close();
    self->read_body();
  });
}

void Connection::read_body() {
  if (body_.whole()) {
    state_ = State::working;
    deadline_ = Clock::time_point::max();
    timer_.cancel();
    return loop_.work_on(shared_from_this());
  }
  if (body_.full() && !grow(Claim::newcomer)) {
    if (state_ != State::body) return;  // it was answered
    enter(State::starved, std::chrono::hours(24));
    return loop_.wait_for_memory(shared_from_this());
  }
  if (buffer_.size() > 0) {  // what came with the head
    body_.take(buffer_);
    if (body_.whole() || body_.full()) return read_body();
  }
  socket_.async_read_some(body_.room(), [self = shared_from_this()](const Error& failed, std::size_t n) {
    if (self->state_ != State::body) return;
    if (failed) return self->close();
    self->body_.came(n);
    self->keep_pace(n);
    self->read_body();
  });
}

bool Connection::resume(Claim claim) {
  if (!grow(claim)) return state_ != State::starved;
  state_ = State::body;
  enter(state_, patience());  // it was not the client who was slow
  read_body();
  return true;
}

bool Connection::grow(Claim claim) {
  const Body::Grown grown = body_.grow(claim);
  if (grown == Body::Grown::no_memory) {
    keeps_body_out_ = true;
    reply(refusal(503, "not enough memory"));
  }
  return grown == Body::Grown::yes;
}

void Connection::work() { made_ = loop_.site().work(head_, body_.text()); }

void Connection::answer() { reply(std::move(made_)); }

void Connection::reply(Reply reply) {
  enter(State::writing, seconds_of(loop_.limits().seconds));
  body_.release();
  made_ = std::move(reply);
  reply_head_ = head_of(made_);
  reply_bytes_ = made_.body.size();
  loop_.hold_reply(reply_bytes_);
  const bool bodiless = head_.method == "HEAD";
  rest_ = beast::buffers_suffix<std::array<asio::const_buffer, 2>>(std::array<asio::const_buffer, 2>{
      asio::buffer(reply_head_), bodiless ? asio::const_buffer() : asio::buffer(made_.body)});
  write();
}

void Connection::release_reply() {
  const std::size_t held = std::exchange(reply_bytes_, 0);
  made_.body = std::string();
  if (held > 0) loop_.release_reply(held);
}

void Connection::write() {
  socket_.async_write_some(rest_, [self = shared_from_this()](const Error& failed, std::size_t n) {
    if (self->state_ != State::writing) return;
    if (failed) return self->close();
    self->rest_.consume(n);
    self->keep_pace(n);
    if (asio::buffer_size(self->rest_) > 0) return self->write();
    self->let_client_close();
  });
}

// To close while the client still sends would take the answer away from it.
void Connection::let_client_close() {
  release_reply();
  Error ignored;
  socket_.shutdown(Tcp::socket::shutdown_send, ignored);
  enter(State::closing, keeps_body_out_ ? seconds_of(loop_.limits().seconds) : Clock::duration(kFarewell));
  discard();
}

void Connection::discard() {
  socket_.async_read_some(loop_.nowhere(), [self = shared_from_this()](const Error& failed, std::size_t n) {
    if (self->state_ != State::closing) return;
    self->discarded_ += n;
    if (failed || self->discarded_ > 4 * self->loop_.limits().body_bytes) return self->close();
    self->discard();
  });
}

}  // namespace oriel::portrait::http
