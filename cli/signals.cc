#include "cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <vector>

#include "cli/usage.h"
#include "io/unfinished.h"

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

// All that end a process unless they are caught, but for those of a program that has gone wrong (SIGSEGV, SIGABRT,
// SIGFPE, SIGILL, SIGSYS, SIGTRAP), which had better touch nothing, and SIGKILL.
std::vector<int> ending_signals() {
  std::vector<int> signals = {SIGHUP,  SIGINT,  SIGQUIT,   SIGBUS,  SIGUSR1,   SIGUSR2, SIGPIPE, SIGALRM,
                              SIGTERM, SIGXCPU, SIGVTALRM, SIGPROF, SIGSTKFLT, SIGIO,   SIGPWR};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) signals.push_back(signal);
  return signals;
}

}  // namespace

void handle_signals() {
  for (const int signal : ending_signals()) {
    struct sigaction action {};
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;  // nohup ignores some
    action.sa_handler = end_by_signal;
    sigfillset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error of write, not a death
}

}  // namespace oriel::cli
