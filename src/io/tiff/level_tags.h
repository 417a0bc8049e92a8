// The tags of the images of a pyramid.
#pragma once

#include <string>

#include "io/tiff/directory.h"
#include "io/tiff/level_pages.h"

namespace oriel::io::tiff {

/// Of an image of a level, without the places of its tiles; `plane` counts from 0.
Directory level_tags(const LevelsSpec& spec, const Levels& levels, std::size_t level, index_t plane);

}  // namespace oriel::io::tiff
