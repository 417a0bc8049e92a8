#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/json.h"
#include "cli/names.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "io/hdf5.h"
#include "oriel/pool.h"

namespace oriel::cli {
namespace {

std::string kernels_of(const InstructionSet& set) {
  const std::string vectors = set.vector_bytes == 0 ? "no vectors" : fmt::format("{}-byte vectors", set.vector_bytes);
  return fmt::format("{}: {}; {}", set.name, vectors, fmt::join(set.kernels, ", "));
}

}  // namespace

int run_info(const InfoCommand& command) {
  const std::vector<std::string> targets = supported_targets();
  std::vector<std::string> kernels;
  Json sets = Json::object();
  for (const InstructionSet& set : instruction_sets()) {
    kernels.push_back(kernels_of(set));
    sets[set.name] = {{"vector_bytes", set.vector_bytes}, {"kernels", set.kernels}};
  }
  const std::string hdf5 = io::hdf5_version();
  if (command.json) {
    print(json_text({{"version", version()},
                     {"target", active_target()},
                     {"targets", targets},
                     {"kernels", sets},
                     {"threads", default_threads()},
                     {"compiler", ORIEL_COMPILER},
                     {"build_type", ORIEL_BUILD_TYPE},
                     {"hdf5", hdf5.empty() ? Json(nullptr) : Json(hdf5)},
                     {"dtypes", dtype_names()},
                     {"ops", op_names()}}));
    return kExitDone;
  }
  print(
      fmt::format("oriel {}\ntarget     {}  (ORIEL_TARGET forces one of: {})\nkernels    {}\nthreads    {}\ncompiler   "
                  "{}, {}\nhdf5       {}\n"
                  "dtypes     {}\nops        {}\n",
                  version(), active_target(), fmt::join(targets, " "), fmt::join(kernels, "\n           "),
                  default_threads(), ORIEL_COMPILER, ORIEL_BUILD_TYPE, hdf5.empty() ? "none" : hdf5,
                  fmt::join(dtype_names(), " "), fmt::join(op_names(), " ")));
  return kExitDone;
}

}  // namespace oriel::cli
