// Levels as a TIFF: cloud-optimised, or an OME-TIFF whose planes have reduced images.
#pragma once

#include <memory>
#include <string>

#include "io/levels.h"

namespace oriel::io::tiff {

/// Those of LevelsFormat; names that end in .ome.tif or .ome.tiff are OME-TIFFs.
bool is_ome_levels_path(const std::string& path);
bool is_levels_path(const std::string& path);
void prepare_ome_levels(const std::string& path, LevelsSpec& spec);
void prepare_levels(const std::string& path, LevelsSpec& spec);
std::unique_ptr<Output> make_levels_output(const std::string& path);
void create_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);
std::unique_ptr<LevelsOut> open_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);
void complete_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);

}  // namespace oriel::io::tiff
