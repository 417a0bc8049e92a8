// Pictures from files and into files, as the chain takes and gives them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/portrait/image/plane.h"
#include "io/files.h"

namespace oriel::portrait {

/// A picture that was read.
struct ImageFile {
  Image image;                     ///< RGB, upright
  Planes opacity;                  ///< 1 plane, where the file holds transparency; else empty
  io::Picture meta;                ///< resolution and colour profile, which a result is written with
  bool first_of_several = false;   ///< pictures in the file, of which none was named
  std::vector<std::string> notes;  ///< what was lost, to print: `converted from 16 to 8 bits per sample`
};

/// A PNG, JPEG, TIFF or WebP of at most `most_pixels`; `file` is its name in errors. Throws Error. `place` is where it
/// lies, if it is a file, and says which of several pictures is meant.
ImageFile decode_image(std::span<const std::byte> bytes, const std::string& file, index_t most_pixels,
                       const io::InputPath& place = {"-", ""});
/// The same of a file, or of picture N of FILE:N; `-` is standard input.
ImageFile read_image_file(const std::string& path, index_t most_pixels);

/// The ending that says how a picture is written: of --format where that is given, else of the path; `.png` for `-`.
/// Throws Error if there is none that pictures have, or where it holds no transparency though `channels` is 4.
std::string image_ending(const std::string& path, const std::string& format, index_t channels);

/// The bytes of a file with that ending. Throws Error.
std::vector<std::byte> encode_image(const Image& image, const std::string& ending, const std::string& file,
                                    const std::optional<io::Picture>& meta);

}  // namespace oriel::portrait
