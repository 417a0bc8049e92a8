#include "apps/portrait/runtime/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/portrait/runtime/model_file.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "oriel_portrait_openvino.so";
constexpr const char* kInstall = "'make portrait-models' in Oriel's source folder installs it";

// Where the program was installed, else where it was built; empty: in neither place.
std::string place() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  for (const fs::path& folder :
       {program.parent_path().parent_path() / ORIEL_PORTRAIT_PLUGINS, fs::path(ORIEL_PORTRAIT_BUILT_PLUGINS)})
    if (fs::is_regular_file(folder / kName, none)) return (folder / kName).string();
  return {};
}

OpenNetwork runtime(const std::string& file) {
  const std::string part = place();
  if (part.empty())
    throw Error(
        fmt::format("{}: this build has no part that runs .onnx and .tflite files (OpenVINO); {}", file, kInstall));
  void* const library = ::dlopen(part.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: its threads may outlive it
  if (library == nullptr)
    throw Error(fmt::format("{}: the part that runs .onnx and .tflite files cannot be loaded ({}); {}", file,
                            detail::printable(::dlerror()), kInstall));
  return reinterpret_cast<OpenNetwork>(::dlsym(library, kOpenNetwork));
}

}  // namespace

bool is_network_file(const std::string& file) {
  std::string ending = fs::path(file).extension();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return ending == ".onnx" || ending == ".tflite";
}

bool has_runtime() { return !place().empty(); }

std::unique_ptr<Network> open_network(const std::string& file) {
  check_model_file(file);
  const OpenNetwork open = runtime(file);
  if (open == nullptr) throw Error(fmt::format("{}: {} is of another version of this program", file, kName));
  try {
    return std::unique_ptr<Network>(open(file));
  } catch (const std::exception& e) {
    throw Error(fmt::format("{}: OpenVINO cannot read it: {}", file, detail::shortened(e.what(), 400)));
  }
}

}  // namespace oriel::portrait
