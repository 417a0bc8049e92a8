// What the paths of `oriel pool` stand for, and which of them must not be the same.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "io/files.h"

namespace oriel::cli {

/// A file, or a part of a file that holds several.
struct Place {
  enum class Kind : std::uint8_t { stream, whole, npz, hdf5 };
  Kind kind = Kind::whole;
  std::string path;  ///< as typed
  std::string file;  ///< what is opened
  std::string part;  ///< an array of an archive, a dataset's path; empty: a whole file
};

/// What an output's path stands for; `format` as --format says, empty: the name tells. Without a name, the array of an
/// archive is `arr_0`, and that of an HDF5 file `/data`.
Place output_place(const std::string& path, const std::string& format);

/// Whether both are one array, whatever the paths: links, hard links and groups of several names are followed.
bool is_same_place(const Place& a, const Place& b);
/// Whether both are parts of one archive or of one HDF5 file.
bool share_file(const Place& a, const Place& b);

/// Throws UsageError if OUT or --indices is the file of `option`, --mask or --weights. `part` is what was read of it.
void check_beside_place(const PoolCommand& command, const char* option, const std::string& path,
                        const std::string& part);

/// Throws UsageError if --indices is OUT or IN, or OUT is IN without --replace-input. `part` is what was read of IN.
void check_places(const PoolCommand& command, const std::string& part);

}  // namespace oriel::cli
