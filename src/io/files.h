// Files of every format: which format a name or the first bytes tell, and arrays read and written by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/array.h"
#include "io/bytes.h"

namespace oriel::io {

/// The kinds of file that are read and written.
enum class Format : std::uint8_t { npy, npz, image };

/// The format that a path's ending names (`.npy`, `.npz`, `.npz:NAME`, `.png` `.jpg` `.jpeg` `.tif` `.tiff` `.webp`).
/// Throws Error naming the allowed endings.
Format format_of(const std::string& path);

/// The archive and the array's name in `FILE.npz:NAME`; the name is empty where none is given.
struct NpzPath {
  std::string file;
  std::string name;
};
NpzPath split_npz_path(const std::string& path);

/// A file to read and which part of it: an array of an archive, a page of a picture.
struct InputPath {
  std::string file;
  std::string array;          ///< of `FILE.npz:NAME`; empty: none is named
  std::optional<int> page{};  ///< of `FILE.tif:N`
  bool all_pages = false;     ///< `FILE.tif:all`
};
/// What follows a TIFF's name if all of its images are one tensor.
inline constexpr std::string_view kAllPages = ":all";
/// The parts of such a path. A file that is there under the whole name, colon and all, is that file.
InputPath split_input_path(const std::string& path);

/// Reads `path`, whatever its format; `-` is standard input, where the first bytes tell the format. `dtype` is what the
/// file must hold; bf16 must be asked for, because .npy has no name of its own for it. Throws Error.
Array read_array(const std::string& path, std::optional<Dtype> dtype = std::nullopt);

/// The bytes of a file that holds `t`, handed to `write`. `ending` gives the format: `.npy`, `.npz:NAME`, `.png` …;
/// `file` is what errors call it; `picture` is used by images.
void write_array(const WriteBytes& write, const std::string& ending, const std::string& file, const ConstTensor& t,
                 const std::optional<Picture>& picture = std::nullopt);

}  // namespace oriel::io
