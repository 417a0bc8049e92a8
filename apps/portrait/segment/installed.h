// Models that are in the user's data folder, and those that can be put there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oriel::portrait {

/// A model with a name of its own.
struct InstalledModel {
  std::string name;  ///< that --model takes
  std::string path;
  std::uintmax_t bytes = 0;  ///< of its file; 0: it is not there
  std::string about, licence, source;
  bool known = false;  ///< checked by its SHA-256 when it was put there
};

/// `$XDG_DATA_HOME/oriel/models`, or below `~/.local/share`. Throws Error if neither is set.
std::string models_folder();

/// The models that this program knows, whether they are there or not, then other files of the folder by name.
std::vector<InstalledModel> installed_models();

/// The file that --model means: of an installed model's name, else the text itself; empty: the best that is there.
std::string model_path(const std::string& model);

/// True for a file that `models get` checked.
bool is_checked(const std::string& path);

}  // namespace oriel::portrait
