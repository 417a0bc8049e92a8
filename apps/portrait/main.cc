// oriel-portrait: reads the command line, runs a subcommand, turns errors into one line and an exit code.
#include <new>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "apps/portrait/commands/options.h"
#include "cli/command_line.h"
#include "cli/progress.h"
#include "cli/signals.h"

namespace {

using namespace oriel::portrait;
using oriel::cli::kExitDone, oriel::cli::kExitFailure, oriel::cli::kExitUsage;

struct Runner {
  std::string& command;  // what an error's line begins with

  int operator()(const TextCommand& c) const {
    oriel::cli::print(c.text);
    return kExitDone;
  }
  int operator()(ImageCommand& c) const { return named("image", run_image, c); }
  int operator()(FolderCommand& c) const { return named("folder", run_folder, c); }
  int operator()(PipeCommand& c) const { return named("pipe", run_pipe, c); }
  int operator()(VideoCommand& c) const { return named("video", run_video, c); }
  int operator()(CameraCommand& c) const { return named("camera", run_camera, c); }
  int operator()(ServeCommand& c) const { return named("serve", run_serve, c); }
  int operator()(CompareCommand& c) const { return named("compare", run_compare, c); }
  int operator()(ModelsCommand& c) const { return named("models", run_models, c); }

  template <class C>
  int named(const char* name, int (*run)(C), C& c) const {
    command = std::string("oriel-portrait ") + name;
    return run(std::move(c));
  }
};

// Each image and each frame takes planes of the same sizes: memory that is free is kept, since pages that the system
// hands out again are filled with zeros first.
void keep_free_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_free_memory();
  std::string command = "oriel-portrait";
  try {
    oriel::cli::handle_signals();
    Command parsed = parse_command(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    return std::visit(Runner{command}, parsed);
  } catch (const oriel::cli::UsageError& e) {
    return oriel::cli::complain(e.command, e.what(), kExitUsage);
  } catch (const std::bad_alloc&) {
    return oriel::cli::complain(command, "out of memory", kExitFailure);
  } catch (const std::exception& e) {
    return oriel::cli::complain(command, e.what(), kExitFailure);
  }
}
