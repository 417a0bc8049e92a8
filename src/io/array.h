// An array in memory together with what keeps it alive, and the doors to every file format.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oriel/tensor.h"

namespace oriel::io {

/// What an image file says beside its pixels; kept so that a result can be written with it.
struct Picture {
  double pixels_per_mm_x = 0;
  double pixels_per_mm_y = 0;
  std::vector<std::byte> icc_profile;  // empty: none
  int pages = 1;                       // pictures in the file
  int page = 0;                        // that was asked for, counted from 1; 0: none, so the first was read
};

/// A read-only tensor and the memory (a mapped file, a buffer) that it looks into.
struct Array {
  ConstTensor view;
  std::shared_ptr<const void> memory;
  std::optional<Picture> picture;  // where it came from an image
  std::string part{};              // its name in the archive that it came from
};

/// A dense tensor with memory of its own, aligned to 64 bytes and not initialised.
struct Buffer {
  Tensor view;
  std::shared_ptr<void> memory;
};
/// Throws Error when there is not that much memory.
Buffer allocate(Dtype dtype, const Extents& shape);

/// Copies every element; dtypes and shapes must be the same, pitches need not.
void copy(const ConstTensor& from, const Tensor& to);

/// `t` itself when it is dense in C order, else a copy that is.
Array dense(const ConstTensor& t);

/// Reads at most `count` bytes; 0 at the end. Throws Error.
using ReadBytes = std::function<std::size_t(void* to, std::size_t count)>;
/// Writes all bytes or throws Error.
using WriteBytes = std::function<void(const void* from, std::size_t count)>;

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
};
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
