#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

#include "cli/usage.h"
#include "io/output_file.h"

namespace oriel::cli {
namespace {

// Leaves no half-written file behind, then ends as the signal says.
extern "C" void end_by_signal(int signal) {
  io::remove_unfinished_outputs();
  if (signal == SIGBUS) {
    constexpr char text[] = "oriel: an input file became shorter while it was being read\n";
    (void)!::write(STDERR_FILENO, text, sizeof text - 1);
    ::_exit(kExitFailure);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGBUS}) {
    struct sigaction action {};
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;  // nohup
    action.sa_handler = end_by_signal;
    ::sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error of write, not a death
}

}  // namespace oriel::cli
