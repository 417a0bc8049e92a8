// Where planes of levels are drawn on a sheet: all at one physical scale, in the same part of space.
#pragma once

#include <string>
#include <vector>

#include "io/ome/multiscales.h"
#include "oriel/types.h"

namespace oriel::cli {

/// Rectangle of pixels.
struct SheetBox {
  int left = 0, top = 0, width = 0, height = 0;
};

/// A plane through the middle of level 0: two axes of space that are drawn, and the axis that it is perpendicular to.
struct SheetPlane {
  int across = -1;  ///< -1: the image has two axes of space
  int down = 0, right = 0;
};

/// A level's share of the sheet: a caption above its planes.
struct SheetCell {
  SheetBox caption;
  std::vector<SheetBox> planes;
};

struct SheetLayout {
  std::vector<double> low, high;  ///< the part of space that is drawn, for each axis
  double pixels = 1;              ///< of a physical unit
  std::vector<SheetPlane> planes;
  std::vector<SheetCell> cells;  ///< one for each level that is drawn
  SheetBox title, legend;
  int width = 0, height = 0;
};

/// Shapes of levels with their coordinates, at most 1600 x 1200 pixels. Levels beyond the 24th are not drawn. Throws
/// Error naming `file` for coordinates that no picture can show.
SheetLayout lay_out(const io::ome::Multiscales& image, const std::vector<Extents>& shapes, const std::string& file);

}  // namespace oriel::cli
