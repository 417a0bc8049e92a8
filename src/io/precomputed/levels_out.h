// Levels as the scales of a volume in neuroglancer's precomputed format.
#pragma once

#include <memory>
#include <string>

#include "io/levels.h"
#include "io/precomputed/volume.h"

namespace oriel::io::precomputed {

/// Those of LevelsFormat. Axes are x, y, z and channels, whatever their order in the levels; a volume without z has one
/// plane. Labels of u32 and u64 are written as compressed_segmentation unless `codec` says that nothing is compressed.
void prepare_levels(const std::string& path, LevelsSpec& spec);
std::unique_ptr<Output> make_levels_output(const std::string& path);
void create_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);
std::unique_ptr<LevelsOut> open_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);
void complete_levels(const std::string& place, const std::string& path, const LevelsSpec& spec);

}  // namespace oriel::io::precomputed
