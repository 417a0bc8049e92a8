// The `oriel` command: reads the command line, runs a subcommand, turns errors into one line and an exit code.
#include <new>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/ranks_start.h"
#include "cli/signals.h"

namespace {

using namespace oriel;
using namespace oriel::cli;

struct Runner {
  std::string& command;  // what an error's line begins with

  int operator()(const TextCommand& c) const {
    print(c.text);
    return kExitDone;
  }
  int operator()(const PoolCommand& c) const { return named("pool", run_pool, c); }
  int operator()(const PyramidCommand& c) const { return named("pyramid", run_pyramid, c); }
  int operator()(const CheckCommand& c) const { return named("check", run_check, c); }
  int operator()(const ExplainCommand& c) const { return named("explain", run_explain, c); }
  int operator()(const BenchCommand& c) const { return named("bench", run_bench, c); }
  int operator()(const ScaleCommand& c) const { return named("scale", run_scale, c); }
  int operator()(const TileCommand& c) const { return named("tile", run_tile, c); }
  int operator()(const InfoCommand& c) const { return named("info", run_info, c); }

  template <class C>
  int named(const char* name, int (*run)(const C&), const C& c) const {
    command = std::string("oriel ") + name;
    return run(c);
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::string command = "oriel";
  try {
    handle_signals();
    start_ranks(argc, argv);
    const Command parsed = parse_command(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    return std::visit(Runner{command}, parsed);
  } catch (const UsageError& e) {
    return complain(e.command, e.what(), kExitUsage);
  } catch (const Error& e) {
    return complain(command, e.what(), kExitFailure);
  } catch (const std::bad_alloc&) {
    return complain(command, "out of memory", kExitFailure);
  } catch (const std::exception& e) {
    return complain(command, e.what(), kExitFailure);
  }
}
