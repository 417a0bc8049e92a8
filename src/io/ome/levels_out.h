// Levels as a group of OME-Zarr.
#pragma once

#include <memory>
#include <string>

#include "io/levels.h"

namespace oriel::io::ome {

/// Those of LevelsFormat. `spec.image.version` is 0.4, arrays of Zarr version 2, or 0.5, of version 3.
bool is_levels_path(const std::string& path);
std::unique_ptr<Output> make_levels_output(const std::string& path);
void create_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);
std::unique_ptr<LevelsOut> open_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);
/// Completes the arrays alone.
void complete_arrays(const std::string& place, const std::string& path, const LevelsSpec& spec);
void complete_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);

}  // namespace oriel::io::ome
