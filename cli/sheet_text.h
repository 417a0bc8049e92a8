// The words on a sheet.
#pragma once

#include <string>
#include <vector>

#include "cli/sheet_layout.h"
#include "io/ome/multiscales.h"
#include "io/volume.h"

namespace oriel::cli {

/// The middle of the element in the middle of an axis.
double middle_of(const io::ome::Level& level, const Extents& shape, int axis);

/// The symbol of the unit that all axes of space have, with a blank before it; empty if they have none, or several.
std::string unit_of_space(const io::ome::Multiscales& image);

/// `level 2: u16 30x75x78`.
std::string level_title(std::size_t level, const io::VolumeIn& array);

/// Where a level's elements are, then `note`, then the level that it is drawn from if that is another.
std::string level_caption(const io::ome::Multiscales& image, std::size_t level, const std::string& note,
                          std::size_t drawn_from);

/// Where the planes are, and of which axes only the first element is drawn. `shape`: of level 0.
std::string legend_text(const io::ome::Multiscales& image, const Extents& shape, const std::vector<SheetPlane>& planes);

}  // namespace oriel::cli
