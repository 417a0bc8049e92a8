// The `oriel` command: reads the command line, runs a subcommand, turns errors into one line and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/progress.h"
#include "io/output_file.h"

namespace {

using namespace oriel;
using namespace oriel::cli;

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

struct Runner {
  std::string& command;  // what an error's line begins with

  int operator()(const TextCommand& c) const {
    print(c.text);
    return kExitDone;
  }
  int operator()(const PoolCommand& c) const { return named("pool", run_pool, c); }
  int operator()(const CheckCommand& c) const { return named("check", run_check, c); }
  int operator()(const ExplainCommand& c) const { return named("explain", run_explain, c); }
  int operator()(const BenchCommand& c) const { return named("bench", run_bench, c); }
  int operator()(const TileCommand& c) const { return named("tile", run_tile, c); }
  int operator()(const InfoCommand& c) const { return named("info", run_info, c); }
  int operator()(const CompletionCommand& c) const { return named("completion", run_completion, c); }

  template <class C>
  int named(const char* name, int (*run)(const C&), const C& c) const {
    command = std::string("oriel ") + name;
    return run(c);
  }
};

// One line, whatever a file's name holds.
int complain(const std::string& command, std::string text, int code) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  fmt::print(stderr, "{}: {}\n", command, text);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::string command = "oriel";
  try {
    handle_signals();
    const Command parsed = parse_command(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    return std::visit(Runner{command}, parsed);
  } catch (const UsageError& e) {
    return complain(e.command, e.what(), kExitUsage);
  } catch (const Error& e) {
    return complain(command, e.what(), kExitFailure);
  } catch (const std::bad_alloc&) {
    return complain(command, "memory: there is not enough for this", kExitFailure);
  } catch (const std::exception& e) {
    return complain(command, e.what(), kExitFailure);
  }
}
