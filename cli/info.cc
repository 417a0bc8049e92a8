#include <fmt/format.h>

#include <vector>

#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "io/hdf5.h"
#include "oriel/pool.h"

namespace oriel::cli {
namespace {

std::vector<std::string> dtype_names() {
  return {
#define ORIEL_DTYPE(dtype, type, accumulator) std::string(name(Dtype::dtype)),
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
  };
}

std::vector<std::string> op_names() {
  return {
#define ORIEL_OP(op) std::string(name(Op::op)),
#include "oriel/ops.def"
#undef ORIEL_OP
  };
}

}  // namespace

int run_info(const InfoCommand& command) {
  const std::vector<std::string> targets = supported_targets();
  const std::string hdf5 = io::hdf5_version();
  if (command.json) {
    print(
        fmt::format("{{\"version\": {}, \"target\": {}, \"targets\": {}, \"threads\": {}, \"compiler\": {}, "
                    "\"build_type\": {}, \"hdf5\": {}, \"dtypes\": {}, \"ops\": {}}}\n",
                    json_string(version()), json_string(active_target()), json_list(targets), default_threads(),
                    json_string(ORIEL_COMPILER), json_string(ORIEL_BUILD_TYPE),
                    hdf5.empty() ? "null" : json_string(hdf5), json_list(dtype_names()), json_list(op_names())));
    return kExitDone;
  }
  print(fmt::format(
      "oriel {}\ntarget     {}  (ORIEL_TARGET forces one of: {})\nthreads    {}\ncompiler   {}, {}\nhdf5       {}\n"
      "dtypes     {}\nops        {}\n",
      version(), active_target(), fmt::join(targets, " "), default_threads(), ORIEL_COMPILER, ORIEL_BUILD_TYPE,
      hdf5.empty() ? "none" : hdf5, fmt::join(dtype_names(), " "), fmt::join(op_names(), " ")));
  return kExitDone;
}

}  // namespace oriel::cli
