// `oriel-portrait serve`: the page and the interface, for this machine unless asked otherwise.
#include <fmt/format.h>
#include <httplib.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "apps/portrait/remove_api.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "oriel/pool.h"

namespace oriel::portrait {

extern const char* const kPage;  // page/index.html, made part of the program by CMake

namespace {

constexpr int kConnections = 16;  // each holds at most one upload
constexpr time_t kSeconds = 20;   // of silence, then a connection ends

void say_json(httplib::Response& reply, int status, const std::string& text) {
  reply.status = status;
  reply.set_content(text, "application/json");
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

bool is_loopback(const std::string& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

// The name that a browser asked for, without the port. A page of another name that was made to lead here is refused.
bool asked_for_this_machine(const httplib::Request& request) {
  std::string host = request.get_header_value("Host");
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) host.resize(colon);
  return host == "[::1]" || is_loopback(host);
}

RemoveRequest request_of(const httplib::Request& from) {
  RemoveRequest request;
  for (const auto& [name, value] : from.params) request.parameters[name] = value;
  if (!from.is_multipart_form_data()) {
    request.picture = from.body;
    return request;
  }
  for (const auto& [name, part] : from.files) {
    if (name == "file" || name == "image")
      request.picture = part.content;
    else if (name == "background_file")
      request.background = part.content;
    else
      request.parameters[name] = part.content;
  }
  return request;
}

class Site {
 public:
  Site(const ServeCommand& c, RemoveApi& api) : c_(c), api_(api) {}

  void add_to(httplib::Server& server) {
    server.new_task_queue = [] { return new httplib::ThreadPool(kConnections); };
    server.set_socket_options([](socket_t socket) {  // the usual ones let two servers share a port
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server.set_payload_max_length(static_cast<std::size_t>(c_.most_megabytes) * 1'000'000);
    server.set_keep_alive_max_count(1);  // a connection that waits would hold a thread
    server.set_read_timeout(kSeconds);
    server.set_write_timeout(kSeconds);
    server.set_default_headers({{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-store"}});
    server.set_pre_routing_handler([this](const auto& request, auto& reply) { return admit(request, reply); });
    server.set_error_handler([](const httplib::Request&, httplib::Response& reply) {
      if (!reply.body.empty()) return;
      const char* const text = reply.status == 413   ? "the request is larger than this server takes"
                               : reply.status == 404 ? "there is nothing here"
                               : reply.status == 400 ? "the request is malformed"
                                                     : "the request failed";
      reply.set_content(error_json(text), "application/json");
    });
    server.Get("/", [](const auto&, auto& reply) {
      reply.set_header(
          "Content-Security-Policy",
          "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src blob: data:; "
          "media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
      reply.set_content(kPage, "text/html; charset=utf-8");
    });
    server.Get("/api/health", [this](const auto&, auto& reply) {
      say_json(
          reply, 200,
          fmt::format(
              "{{\"status\": \"ok\", \"version\": \"{}\", \"model\": {}, \"requests\": {}, \"max_megabytes\": {}}}\n",
              version(), cli::json_string(api_.model()), served_.load(), c_.most_megabytes));
    });
    server.Get("/api/models", [this](const auto&, auto& reply) {
      say_json(reply, 200, fmt::format("{{\"models\": [{}]}}\n", cli::json_string(api_.model())));
    });
    server.Get("/api/openapi.json", [](const auto&, auto& reply) { say_json(reply, 200, openapi_text()); });
    server.Get("/api/remove", [](const auto&, auto& reply) {
      say_json(reply, 405, error_json("GET: no address is fetched; allowed: POST with the picture"));
    });
    server.Post("/api/remove", [this](const auto& request, auto& reply) { remove(request, reply); });
  }

 private:
  httplib::Server::HandlerResponse admit(const httplib::Request& request, httplib::Response& reply) const {
    using Response = httplib::Server::HandlerResponse;
    if (is_loopback(c_.host) && !asked_for_this_machine(request)) {
      say_json(reply, 403, error_json("Host: this server answers as localhost only"));
      return Response::Handled;
    }
    if (request.method == "POST" && !request.has_header("Content-Length")) {  // nothing would bound such a body
      say_json(reply, 411, error_json("Content-Length: it is missing"));
      return Response::Handled;
    }
    return Response::Unhandled;
  }

  void remove(const httplib::Request& request, httplib::Response& reply) {
    const RemoveReply done = api_.remove(request_of(request));
    ++served_;
    reply.status = done.status;
    reply.set_content(done.body, done.type);
    if (done.status != 200) return;
    reply.set_header("X-Person-Area", fmt::format("{:.4f}", done.person.area));
    reply.set_header("X-Person-Confidence", fmt::format("{:.4f}", done.person.confidence));
    reply.set_header("Content-Disposition", fmt::format("inline; filename=\"{}.{}\"", random_name(),
                                                        done.type.substr(done.type.find('/') + 1)));
  }

  const ServeCommand& c_;
  RemoveApi& api_;
  std::atomic<index_t> served_{0};
};

// SIGINT and SIGTERM wait here; they end the server after the requests that it has.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);  // before any other thread is there: they inherit it
    std::signal(SIGPIPE, SIG_IGN);               // a browser that goes away is no reason to end
  }
  void wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_{};
};

}  // namespace

int run_serve(ServeCommand c) {
  const StopSignals signals;
  const int workers = c.asked.look.chain.threads > 0 ? c.asked.look.chain.threads : default_threads();
  RemoveApi api(c.asked, make_segmenter(c.asked.source), workers);
  Site site(c, api);
  httplib::Server server;
  site.add_to(server);
  const int port = c.port > 0 ? (server.bind_to_port(c.host, c.port) ? c.port : -1) : server.bind_to_any_port(c.host);
  if (port < 0) throw Error(fmt::format("--host {} --port {}: cannot listen there", c.host, c.port));
  cli::print(fmt::format("http://{}:{}/\n", c.host.find(':') == std::string::npos ? c.host : "[" + c.host + "]", port));
  std::thread stopper([&] {
    signals.wait();
    server.stop();
  });
  const bool ended = server.listen_after_bind();
  ::kill(::getpid(), SIGTERM);  // for the thread above, where listening ended by itself
  stopper.join();
  if (!ended) throw Error(fmt::format("--host {} --port {}: listening ended", c.host, port));
  return cli::kExitDone;
}

}  // namespace oriel::portrait
