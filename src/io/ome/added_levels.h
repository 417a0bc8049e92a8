// Levels that are added to an image of OME-Zarr, which keeps its level 0.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/levels.h"

namespace oriel::io::ome {

/// A format whose paths are those of images: what is made is levels 1 and up, which come into the group, each in one
/// step, before its metadata name them. Levels that the metadata named before are removed at the end. All other
/// metadata stay; consolidated ones, which would be out of date, are removed.
const LevelsFormat& added_levels();

/// Removes what runs that were killed while they added levels left in a group: folders that no metadata name.
void remove_unnamed(const std::string& group);

/// Paths for levels 1 to `count` of an image, of which the group has none yet: like that of level 0, with another
/// number.
std::vector<std::string> free_level_paths(const std::string& group, const Multiscales& image, std::size_t count);

}  // namespace oriel::io::ome
