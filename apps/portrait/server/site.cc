#include "apps/portrait/server/site.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "apps/portrait/server/http/form.h"
#include "cli/json.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::portrait {

extern const char* const kPage;     // page/index.html, made part of the program by CMake
extern const char* const kOpenapi;  // openapi.json, likewise

using http::Head, http::Reply, http::refusal;

namespace {

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

Reply page() {
  return {.type = "text/html; charset=utf-8",
          .body = kPage,
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                       "img-src blob: data:; media-src blob:; connect-src 'self'; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'"}}};
}

}  // namespace

std::optional<Reply> Site::admit(const Head& head) const {
  if (!rule_.allows(head.host, head.came_to))
    return refusal(403, fmt::format("Host: this server answers to {} only", rule_.names()));
  if (!rule_.allows_origin(head.origin, head.host))
    return refusal(403, fmt::format("Origin: {} is another site, whose pages may not use this server; allowed: its "
                                    "own page, and programs that send no Origin",
                                    detail::quoted(head.origin)));
  const bool get = head.method == "GET" || head.method == "HEAD";
  if (get && head.path == "/") return page();
  if (get && head.path == "/api/health") return health();
  if (get && head.path == "/api/models") return models();
  if (get && head.path == "/api/openapi.json") return Reply{.body = kOpenapi};
  if (get && head.path == "/api/remove")
    return refusal(405, "GET: images are not fetched from addresses; allowed: POST with the image");
  if (head.method == "POST" && head.path == "/api/remove") return std::nullopt;
  return refusal(404, "not found");
}

Reply Site::work(const Head& head, std::string_view body) {
  try {
    return remove(head, body);
  } catch (const Error& e) {
    return refusal(400, e.what());
  } catch (const std::bad_alloc&) {
    return refusal(503, "not enough memory");
  }
}

Reply Site::health() const {
  return {.body = cli::json_line({{"status", "ok"},
                                  {"version", version()},
                                  {"model", api_.models().first()},
                                  {"requests", served_.load()},
                                  {"max_megabytes", most_megabytes_}})};
}

Reply Site::models() const {
  const std::vector<std::string> names = api_.models().names();
  return {.body = cli::json_line({{"models", names}, {"default", names.front()}})};
}

Reply Site::remove(const Head& head, std::string_view body) {
  RemoveReply done = api_.remove(request_of(head, body));
  ++served_;
  Reply reply{.status = done.status, .type = done.type, .body = std::move(done.body)};
  if (done.status != 200) return reply;
  reply.headers = {{"X-Person-Area", fmt::format("{:.4f}", done.person.area)},
                   {"X-Person-Confidence", fmt::format("{:.4f}", done.person.confidence)},
                   {"X-Model", detail::ascii(done.model)},
                   {"Content-Disposition", fmt::format("inline; filename=\"{}.{}\"", random_name(),
                                                       done.type.substr(done.type.find('/') + 1))}};
  return reply;
}

}  // namespace oriel::portrait
