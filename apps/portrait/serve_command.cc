// `oriel-portrait serve`: the page and the interface, for this machine unless asked otherwise.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <random>

#include "apps/portrait/http/form.h"
#include "apps/portrait/http/host_rule.h"
#include "apps/portrait/http/server.h"
#include "apps/portrait/remove_api.h"
#include "cli/command_line.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::portrait {

extern const char* const kPage;  // page/index.html, made part of the program by CMake

namespace {

using http::Head, http::Reply, http::refusal;

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

RemoveRequest request_of(const Head& head, std::string_view body) {
  RemoveRequest request{.parameters = head.parameters, .picture = {}, .background = {}};
  if (!http::is_form(head.type)) {
    request.picture = body;
    return request;
  }
  for (const http::Part& part : http::parts_of(head.type, body)) {
    if (part.name == "file" || part.name == "image")
      request.picture = part.content;
    else if (part.name == "background_file")
      request.background = part.content;
    else
      request.parameters[part.name] = part.content;
  }
  return request;
}

class Site {
 public:
  Site(const ServeCommand& c, RemoveApi& api, http::HostRule rule) : c_(c), api_(api), rule_(std::move(rule)) {}

  // Everything but pictures is answered from the head of a request.
  std::optional<Reply> admit(const Head& head) const {
    if (!rule_.allows(head.host, head.came_to))
      return refusal(403, fmt::format("Host: this server answers as {} only", rule_.names()));
    if (!rule_.allows_origin(head.origin, head.host))
      return refusal(403, fmt::format("Origin: {} is another site, whose pages may not use this server; allowed: its "
                                      "own page, and programs that send no Origin",
                                      detail::quoted(head.origin)));
    const bool get = head.method == "GET" || head.method == "HEAD";
    if (get && head.path == "/") return page();
    if (get && head.path == "/api/health") return health();
    if (get && head.path == "/api/models")
      return Reply{.body = fmt::format("{{\"models\": [{}]}}\n", cli::json_string(api_.model()))};
    if (get && head.path == "/api/openapi.json") return Reply{.body = openapi_text()};
    if (get && head.path == "/api/remove")
      return refusal(405, "GET: no address is fetched; allowed: POST with the picture");
    if (head.method == "POST" && head.path == "/api/remove") return std::nullopt;
    return refusal(404, "there is nothing here");
  }

  Reply work(const Head& head, std::string_view body) {
    try {
      return remove(head, body);
    } catch (const Error& e) {
      return refusal(400, e.what());
    } catch (const std::bad_alloc&) {
      return refusal(503, "there is not enough memory for it");
    }
  }

 private:
  static Reply page() {
    return {.type = "text/html; charset=utf-8",
            .body = kPage,
            .headers = {{"Content-Security-Policy",
                         "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                         "img-src blob: data:; media-src blob:; connect-src 'self'; base-uri 'none'; "
                         "form-action 'none'; frame-ancestors 'none'"}}};
  }

  Reply health() const {
    return {.body = fmt::format("{{\"status\": \"ok\", \"version\": \"{}\", \"model\": {}, \"requests\": {}, "
                                "\"max_megabytes\": {}}}\n",
                                version(), cli::json_string(api_.model()), served_.load(), c_.most_megabytes)};
  }

  Reply remove(const Head& head, std::string_view body) {
    RemoveReply done = api_.remove(request_of(head, body));
    ++served_;
    Reply reply{.status = done.status, .type = done.type, .body = std::move(done.body)};
    if (done.status != 200) return reply;
    reply.headers = {{"X-Person-Area", fmt::format("{:.4f}", done.person.area)},
                     {"X-Person-Confidence", fmt::format("{:.4f}", done.person.confidence)},
                     {"Content-Disposition", fmt::format("inline; filename=\"{}.{}\"", random_name(),
                                                         done.type.substr(done.type.find('/') + 1))}};
    return reply;
  }

  const ServeCommand& c_;
  RemoveApi& api_;
  http::HostRule rule_;
  std::atomic<index_t> served_{0};
};

}  // namespace

int run_serve(ServeCommand c) {
  const int workers = c.asked.look.chain.threads > 0 ? c.asked.look.chain.threads : default_threads();
  RemoveApi api(c.asked, make_segmenter(c.asked.source));
  http::Server server(
      c.host, c.port,
      {.body_bytes = static_cast<std::size_t>(c.most_megabytes) * 1'000'000, .workers = workers, .seconds = c.seconds});
  Site site(c, api, http::HostRule(c.host, server.addresses(), c.more_hosts));
  const bool six = c.host.find(':') != std::string::npos;
  cli::print(fmt::format("http://{}:{}/\n", six ? "[" + c.host + "]" : c.host, server.port()));
  const std::size_t left =
      server.run({.admit = [&](const Head& head) { return site.admit(head); },
                  .work = [&](const Head& head, std::string_view body) { return site.work(head, body); }});
  if (left == 0) return cli::kExitDone;
  cli::complain("oriel-portrait serve", fmt::format("ended with {} requests unfinished", left), cli::kExitFailure);
  ::_exit(cli::kExitFailure);  // their threads cannot be called back
}

}  // namespace oriel::portrait
