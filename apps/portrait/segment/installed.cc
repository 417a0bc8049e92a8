#include "apps/portrait/segment/installed.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "apps/portrait/runtime/load.h"
#include "apps/portrait/segment/segmenters.h"

namespace oriel::portrait {
namespace {

namespace fs = std::filesystem;

struct Known {
  const char *name, *file;
  std::uintmax_t bytes;
  const char* about;
};
constexpr Known kSelfie[] = {
    {"selfie", "selfie_segmentation.tflite", 249505,
     "MediaPipe's selfie model, 256x256: people within 2 m of the camera"},
    {"selfie-landscape", "selfie_segmentation_landscape.tflite", 250145,
     "the same, 256x144, for wide images and video calls"},
};

std::uintmax_t size_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  return error ? 0 : size;
}

std::vector<InstalledModel> others(const std::string& folder, const std::vector<InstalledModel>& known) {
  std::vector<InstalledModel> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (!is_network_file(path) || at->path().filename().string().front() == '.' ||
        std::any_of(known.begin(), known.end(), [&](const InstalledModel& m) { return m.path == path; }))
      continue;
    found.push_back({.name = at->path().filename().string(),
                     .path = path,
                     .bytes = size_of(path),
                     .about = "put there by you",
                     .licence = "unknown",
                     .source = "unknown"});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

// What `path` gives; nothing if it throws.
std::string without_error(std::string (*path)()) {
  try {
    return path();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::string models_folder() {
  const char* const data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return (fs::path(data) / "oriel" / "models").string();
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    throw Error("models: neither XDG_DATA_HOME nor HOME names a folder; allowed: an absolute path in one of them");
  return (fs::path(home) / ".local" / "share" / "oriel" / "models").string();
}

std::vector<InstalledModel> installed_models() {
  std::vector<InstalledModel> models;
  const std::string folder = without_error(models_folder);  // a service may have no home
  for (const Known& k : kSelfie) {
    const std::string path = folder.empty() ? std::string() : (fs::path(folder) / k.file).string();
    models.push_back({.name = k.name,
                      .path = path,
                      .bytes = size_of(path),
                      .about = k.about,
                      .licence = "Apache-2.0",
                      .source = "mediapipe 0.10.14 (PyPI), by Google",
                      .known = size_of(path) == k.bytes});
  }
  if (const std::string drawn = without_error(demo_model); !drawn.empty())
    models.push_back({.name = "drawn",
                      .path = drawn,
                      .bytes = size_of(drawn),
                      .about = "Oriel's demo model, trained on drawings: weak on photographs",
                      .licence = "Apache-2.0",
                      .source = "comes with Oriel"});
  const std::vector<InstalledModel> more = others(folder, models);
  models.insert(models.end(), more.begin(), more.end());
  return models;
}

std::string model_path(const std::string& model) {
  std::error_code error;
  if (!model.empty() && (model.find('/') != std::string::npos || fs::is_regular_file(model, error))) return model;
  const bool can_run = has_runtime();
  for (const InstalledModel& m : installed_models()) {
    if (model.empty() ? m.bytes == 0 || (is_network_file(m.path) && !(can_run && m.known)) : m.name != model) continue;
    if (m.bytes == 0)
      throw Error("--model: " + model + " is not installed; 'oriel-portrait models get selfie' installs it");
    return m.path;
  }
  return model.empty() ? demo_model() : model;
}

bool is_checked(const std::string& path) {
  for (const InstalledModel& m : installed_models())
    if (m.known && m.path == path) return true;
  return false;
}

}  // namespace oriel::portrait
