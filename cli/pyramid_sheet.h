// `oriel pyramid --sheet`: the levels of an image side by side in one picture.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "io/ome/multiscales.h"
#include "io/output_file.h"
#include "io/volume.h"

namespace oriel::cli {

/// An image and the arrays of its levels.
struct SheetImage {
  io::ome::Multiscales image;
  std::vector<std::unique_ptr<io::VolumeIn>> levels;
};

/// What the caption of a level says of its elements.
struct SheetNote {
  std::string text;
  bool fault = false;
};

/// The file that --sheet names, to be opened before the work; null if there is none. Throws Error for another ending
/// than .png, for a file in IN or OUT, and for names of --sheet-up that are not among `axes`.
std::unique_ptr<io::OutputFile> open_sheet(const PyramidCommand& command, const std::vector<io::ome::Axis>& axes);

/// Draws the planes through the middle of level 0 for every level, and commits. Of time and channels the first element
/// is drawn. `notes`: one for each level, or none. Does nothing if `sheet` is null. Throws Error.
void draw_sheet(io::OutputFile* sheet, const PyramidCommand& command, const SheetImage& image,
                const std::vector<SheetNote>& notes);

/// The same for the OME-Zarr image in a folder; without notes they are the metadata's name of the method.
void draw_sheet(io::OutputFile* sheet, const PyramidCommand& command, const std::string& folder,
                std::vector<SheetNote> notes = {});

}  // namespace oriel::cli
