// `oriel-portrait serve`: the page and the interface, for this machine unless asked otherwise.
#include <fmt/format.h>
#include <unistd.h>

#include "apps/portrait/commands/options.h"
#include "apps/portrait/server/http/server.h"
#include "apps/portrait/server/site.h"
#include "cli/command_line.h"
#include "cli/progress.h"
#include "oriel/pool.h"

namespace oriel::portrait {

int run_serve(ServeCommand c) {
  const int workers = c.asked.look.chain.threads > 0 ? c.asked.look.chain.threads : default_threads();
  RemoveApi api(c.asked.look, c.asked.most_pixels, c.asked.source);
  http::Server server(
      c.host, c.port,
      {.body_bytes = static_cast<std::size_t>(c.most_megabytes) * 1'000'000, .workers = workers, .seconds = c.seconds});
  Site site(api, http::HostRule(c.host, server.addresses(), c.more_hosts), c.most_megabytes);
  const bool six = c.host.find(':') != std::string::npos;
  cli::print(fmt::format("http://{}:{}/\n", six ? "[" + c.host + "]" : c.host, server.port()));
  const std::size_t left =
      server.run({.admit = [&](const http::Head& head) { return site.admit(head); },
                  .work = [&](const http::Head& head, std::string_view body) { return site.work(head, body); }});
  if (left == 0) return cli::kExitDone;
  cli::complain("oriel-portrait serve", fmt::format("ended with {} requests unfinished", left), cli::kExitFailure);
  ::_exit(cli::kExitFailure);  // their threads cannot be called back
}

}  // namespace oriel::portrait
