// In builds without HDF5.
#include "io/hdf5.h"

namespace oriel::io {
namespace {

[[noreturn]] void refuse(const Hdf5Path& path) {
  throw Error(path.file +
              ": this build of oriel has no HDF5; allowed: .npy, or a build with libhdf5-dev (and for mpirun "
              "libhdf5-openmpi-dev or libhdf5-mpich-dev)");
}

}  // namespace

std::string hdf5_version() { return ""; }
std::unique_ptr<VolumeIn> open_hdf5_volume(const Hdf5Path& path, std::optional<Dtype>) { refuse(path); }
std::vector<double> hdf5_spacing(const VolumeIn&) { return {}; }
std::vector<std::string> hdf5_datasets(const std::string& file) { refuse({file, ""}); }
void describe_hdf5_dataset(const std::string&, const Hdf5Path& path, const Hdf5Description&) { refuse(path); }
void check_hdf5_output(const std::string&, const Hdf5Path& path) { refuse(path); }
bool is_same_hdf5_dataset(const std::string&, const std::string& a, const std::string& b) { return a == b; }
void add_hdf5_dataset(const std::string&, const Hdf5Path& path, const std::string&) { refuse(path); }
void create_hdf5_volume(const std::string&, const Hdf5Path& path, const VolumeSpec&, bool) { refuse(path); }
void write_hdf5_volume(const std::string&, const Hdf5Path& path, const VolumeSpec&, bool, VolumeIn&) { refuse(path); }
std::unique_ptr<VolumeOut> open_hdf5_output(const std::string&, const Hdf5Path& path, const VolumeSpec&, UseRanks) {
  refuse(path);
}

}  // namespace oriel::io
