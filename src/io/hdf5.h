// Datasets of HDF5 files as volumes. A program links one of: oriel_hdf5_serial, and for ranks that write one file
// together oriel_hdf5_openmpi or oriel_hdf5_mpich.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/volume.h"

namespace oriel::io {

/// The version of the HDF5 library, e.g. `1.10.8`; empty in a build without it, where all functions below throw Error.
std::string hdf5_version();

/// The dataset at `path`, whatever its chunks, filters and byte order; without a path the only one of the file. Floats
/// of 16 (both kinds), 32 and 64 bits, integers, and booleans as h5py writes them. Throws Error: no such file or
/// dataset (and which there are), another type, `asked` not the dataset's dtype.
std::unique_ptr<VolumeIn> open_hdf5_volume(const Hdf5Path& path, std::optional<Dtype> asked);

/// The attribute `element_size_um` of such a dataset, as ilastik, BigDataProcessor and ImageJ's plugins write it:
/// distances of elements in micrometers along the last axes, all > 0. Empty for datasets and volumes without it.
std::vector<double> hdf5_spacing(const VolumeIn& in);

/// Paths of the datasets of a file, the first of them if there are many; empty if there is no file.
std::vector<std::string> hdf5_datasets(const std::string& file);

/// What attributes of a dataset say of its axes.
struct Hdf5Description {
  std::vector<std::string> axes;           ///< names, which become the labels of dimensions
  std::vector<double> spacing;             ///< `element_size_um`; empty: none
  std::vector<double> scale, translation;  ///< element i of an axis lies at scale * i + translation
};
/// Adds them to a dataset of the HDF5 file at `place`. Throws Error, which calls the file `path.file`.
void describe_hdf5_dataset(const std::string& place, const Hdf5Path& path, const Hdf5Description& about);

/// Throws Error when `path` cannot be made in the file at `place`: it is no HDF5 file, a group has that name, a dataset
/// stands where a group must be, a group lies in another file. `path.file` is what errors call it.
void check_hdf5_output(const std::string& place, const Hdf5Path& path);

/// Whether both names, as normal_hdf5_name gives them, stand for one dataset of the file: groups may have several
/// names.
bool is_same_hdf5_dataset(const std::string& file, const std::string& a, const std::string& b);

/// Copies the dataset `path.dataset` of the HDF5 file `from` to the same name in that at `place`, where it replaces one
/// of that name. Throws Error, which calls the file `path.file`.
void add_hdf5_dataset(const std::string& place, const Hdf5Path& path, const std::string& from);

/// Makes the dataset, its groups, and the file where `fresh`; other datasets of a file that is there stay, one of that
/// name is replaced. All space is taken at once, so the file's bytes do not depend on who writes what when. The
/// attributes of `spec.like` come along, but those that refer to other objects; `oriel_problem` says what was done.
void create_hdf5_volume(const std::string& place, const Hdf5Path& path, const VolumeSpec& spec, bool fresh);

/// create_hdf5_volume, whose chunks are then written one by one, each once, as compressed ones must be. `spec` has
/// chunks.
void write_hdf5_volume(const std::string& place, const Hdf5Path& path, const VolumeSpec& spec, bool fresh,
                       VolumeIn& values);

/// Makes a file access property list (an hid_t) one for ranks that open a file together.
using UseRanks = void (*)(std::int64_t list);

/// The dataset that create_hdf5_volume made, to be written to. With `ranks`, all of them open, write and close it, each
/// its own boxes.
std::unique_ptr<VolumeOut> open_hdf5_output(const std::string& place, const Hdf5Path& path, const VolumeSpec& spec,
                                            UseRanks ranks);

}  // namespace oriel::io
