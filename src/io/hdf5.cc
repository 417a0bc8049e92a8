#include "io/hdf5.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <vector>

#include "io/chunk_cache.h"
#include "io/hdf5_handle.h"
#include "io/writer_lock.h"

namespace oriel::io {
namespace {

constexpr std::size_t kMostListed = 20;

// HDF5 prints its errors unless told not to.
void be_quiet() {
  // At exit HDF5 1.10 would write once more what could not be written, and crash. All that is open closes itself.
  static const bool leaves_exit_alone = H5dont_atexit() >= 0;
  (void)leaves_exit_alone;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5Eclear2(H5E_DEFAULT);
}

herr_t note_dataset(hid_t, const char* name, const H5O_info_t* info, void* list) {
  auto& names = *static_cast<std::vector<std::string>*>(list);
  if (info->type == H5O_TYPE_DATASET) names.push_back(std::string("/") + name);
  return names.size() > kMostListed ? 1 : 0;
}

std::vector<std::string> datasets_of(hid_t file) {
  std::vector<std::string> names;
  H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &names);
  return names;
}

std::string list(std::vector<std::string> names) {
  if (names.empty()) return "it has no dataset";
  const bool more = names.size() > kMostListed;
  if (more) names.resize(kMostListed);
  return fmt::format("allowed: {}{}", fmt::join(names, ", "), more ? ", …" : "");
}

enum class Found : std::uint8_t { nothing, dataset, group, other, in_the_way, elsewhere };

// The file that an object lies in, as external links lead into others.
unsigned long file_number(hid_t file, const std::string& path) {
  H5O_info_t info{};
  return H5Oget_info_by_name(file, path.c_str(), &info, H5P_DEFAULT) < 0 ? 0 : info.fileno;
}

// What stands at a path; in_the_way: something that is not a group stands before its end; elsewhere: a group before its
// end lies in another file.
Found find(hid_t file, const std::string& path, bool for_writing = false) {
  for (std::size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end);
    const std::string part = path.substr(0, end);
    if (part.back() == '/') return Found::group;  // the root, or a slash at the end
    const bool last = end == std::string::npos;
    if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0 || H5Oexists_by_name(file, part.c_str(), H5P_DEFAULT) <= 0)
      return Found::nothing;
    H5O_info_t info;
    if (H5Oget_info_by_name(file, part.c_str(), &info, H5P_DEFAULT) < 0) return Found::nothing;
    if (last) {
      return info.type == H5O_TYPE_DATASET ? Found::dataset : info.type == H5O_TYPE_GROUP ? Found::group : Found::other;
    }
    if (info.type != H5O_TYPE_GROUP) return Found::in_the_way;
    if (for_writing && info.fileno != file_number(file, "/")) return Found::elsewhere;
    ++end;
  }
  return Found::group;
}

Handle open_file(const std::string& place, const std::string& file, unsigned flags, hid_t access = H5P_DEFAULT) {
  be_quiet();
  // HDF5's own words for these are a page of text.
  if (::access(place.c_str(), R_OK) != 0) throw Error(fmt::format("{}: cannot open: {}", file, std::strerror(errno)));
  if (std::filesystem::is_directory(place)) throw Error(fmt::format("{}: a folder; allowed: a file", file));
  if (H5Fis_hdf5(place.c_str()) <= 0) throw Error(fmt::format("{}: not an HDF5 file, or cut off", file));
  const hid_t opened = H5Fopen(place.c_str(), flags, access);
  if (opened < 0) const NoWriters nobody(place, file, std::chrono::milliseconds(0));  // HDF5 says: try again
  return Handle(opened, H5Fclose, file, "open as an HDF5 file");
}

Extents extents_of(const std::vector<hsize_t>& values) {
  Extents extents;
  for (const hsize_t v : values) extents.push_back(static_cast<index_t>(v));
  return extents;
}

std::vector<hsize_t> sizes_of(const Extents& extents) { return {extents.begin(), extents.end()}; }

// The part of a dataset and of memory that a box is.
struct Selection {
  Handle in_file, in_memory;
};
Selection select(hid_t dataset, const Extents& begin, const Extents& box, const std::string& file) {
  Selection s{Handle(H5Dget_space(dataset), H5Sclose, file, "read the shape"), {}};
  const std::vector<hsize_t> start = sizes_of(begin), count = sizes_of(box);
  s.in_memory =
      Handle(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose, file, "describe a box");
  if (H5Sselect_hyperslab(s.in_file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0)
    fail_hdf5(file, "select a box");
  return s;
}

class Hdf5In : public VolumeIn {
 public:
  Hdf5In(const Hdf5Path& path, std::optional<Dtype> asked)
      : file_(open_file(path.file, path.file, H5F_ACC_RDONLY)), name_(path.file) {
    std::string wanted = path.dataset;
    if (wanted.empty()) {
      const std::vector<std::string> names = datasets_of(file_.get());
      if (names.size() != 1)
        throw Error(fmt::format("{0}: which dataset is meant? Use {0}:/NAME; {1}", path.file, list(names)));
      wanted = names[0];
    }
    const Found found = find(file_.get(), wanted);
    if (found != Found::dataset) {
      const char* const what = found == Found::nothing || found == Found::in_the_way ? "has no dataset '{}'"
                               : found == Found::group                               ? "'{}' is a group, not a dataset"
                                                                                     : "'{}' is not a dataset";
      throw Error(fmt::format("{}: {}; {}", path.file, fmt::format(fmt::runtime(what), wanted),
                              list(datasets_of(file_.get()))));
    }
    name_ = path.file + ":" + wanted;
    part = wanted;
    // Who reads keeps the chunks that are worth it (chunk_cache.h).
    const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, name_, "open");
    H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, 0, H5D_CHUNK_CACHE_W0_DEFAULT);
    dataset_ = Handle(H5Dopen2(file_.get(), wanted.c_str(), access.get()), H5Dclose, name_, "open");
    describe(asked);
  }

  void read(const Extents& begin, const Tensor& to) override {
    if (element_count(to.shape) == 0) return;
    const Selection s = select(dataset_.get(), begin, to.shape, name_);
    if (H5Dread(dataset_.get(), type_.get(), s.in_memory.get(), s.in_file.get(), H5P_DEFAULT, to.data) < 0)
      fail_hdf5(name_, "read");
  }

  hid_t dataset() const { return dataset_.get(); }
  const std::string& name() const { return name_; }

 private:
  void describe(std::optional<Dtype> asked) {
    const Handle stored(H5Dget_type(dataset_.get()), H5Tclose, name_, "read the type");
    const std::optional<Dtype> known = dtype_of(stored.get());
    if (!known) {
      throw Error(fmt::format("{}: holds {}; allowed: f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool", name_,
                              words_of(stored.get())));
    }
    if (asked && *asked != *known) {
      throw Error(fmt::format("{}: the dataset holds {}, but {} was requested; allowed: {}", name_, oriel::name(*known),
                              oriel::name(*asked), oriel::name(*known)));
    }
    dtype = *known;
    type_ = hdf5_type(dtype);
    const Handle space(H5Dget_space(dataset_.get()), H5Sclose, name_, "read the shape");
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) throw Error(fmt::format("{}: an empty dataset", name_));
    if (rank > kMaxRank) throw Error(fmt::format("{}: has {} axes; allowed: at most {}", name_, rank, kMaxRank));
    std::vector<hsize_t> sizes(static_cast<std::size_t>(std::max(rank, 0)));
    H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr);
    shape = extents_of(sizes);
    for (int a = 0; a < rank; ++a) order.push_back(a);
    const Handle list(H5Dget_create_plist(dataset_.get()), H5Pclose, name_, "read the layout");
    if (H5Pget_layout(list.get()) != H5D_CHUNKED) return;
    if (H5Pget_chunk(list.get(), rank, sizes.data()) < 0) fail_hdf5(name_, "read the layout");
    chunk = extents_of(sizes);
  }

  Handle file_;
  std::string name_;
  Handle dataset_, type_;
};

class Hdf5Out : public VolumeOut {
 public:
  Hdf5Out(const std::string& place, const Hdf5Path& path, const VolumeSpec& spec, UseRanks ranks)
      : place_(place), name_(path.file + ":" + path.dataset), type_(hdf5_type(spec.dtype)) {
    be_quiet();
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, name_, "open");
    if (ranks != nullptr) ranks(access.get());
    file_ = Handle(H5Fopen(place.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, path.file, "write");
    dataset_ = Handle(H5Dopen2(file_.get(), path.dataset.c_str(), H5P_DEFAULT), H5Dclose, name_, "write");
  }

  void write(const Extents& begin, const ConstTensor& from) override {
    if (element_count(from.shape) == 0) return;
    const Selection s = select(dataset_.get(), begin, from.shape, name_);
    if (H5Dwrite(dataset_.get(), type_.get(), s.in_memory.get(), s.in_file.get(), H5P_DEFAULT, from.data) < 0)
      fail_hdf5(name_, "write");
  }

  void close() override {
    if (!dataset_.close() || !file_.close()) fail_hdf5(name_, "write");
    const int descriptor = ::open(place_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool kept = descriptor >= 0 && ::fsync(descriptor) == 0;
    if (descriptor >= 0) ::close(descriptor);
    if (!kept) throw Error(fmt::format("{}: cannot write: {}", name_, std::strerror(errno)));
  }

 private:
  std::string place_, name_;
  Handle type_;
  Handle file_, dataset_;  // the dataset is closed first
};

// create_hdf5_volume's caller knows no other compressor.
bool is_compressed(const VolumeSpec& spec) { return spec.codec && spec.codec->kind == Compression::Kind::gzip; }

Handle creation_list(const VolumeSpec& spec, const std::string& name) {
  Handle made(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, name, "describe the dataset");
  const hid_t list = made.get();
  const std::vector<hsize_t> chunk = sizes_of(spec.chunk);
  const bool chunked = !chunk.empty() && element_count(spec.shape) > 0;
  const bool compressed = chunked && is_compressed(spec);
  // Times would make the bytes differ from one run to the next.
  if (H5Pset_obj_track_times(list, false) < 0 ||
      H5Pset_alloc_time(list, compressed ? H5D_ALLOC_TIME_INCR : H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(list, compressed ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER) < 0 ||
      (chunked && H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()) < 0))
    fail_hdf5(name, "describe the dataset");
  if (!compressed) return made;
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0)
    throw Error(fmt::format("{}: this HDF5 library cannot compress; allowed: --codec none", name));
  if (H5Pset_shuffle(list) < 0 || H5Pset_deflate(list, static_cast<unsigned>(spec.codec->level)) < 0)
    fail_hdf5(name, "describe the dataset");
  return made;
}

}  // namespace

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

std::unique_ptr<VolumeIn> open_hdf5_volume(const Hdf5Path& path, std::optional<Dtype> asked) {
  return std::make_unique<Hdf5In>(path, asked);
}

std::vector<double> hdf5_spacing(const VolumeIn& in) {
  const auto* const dataset = dynamic_cast<const Hdf5In*>(&in);
  if (dataset == nullptr) return {};
  constexpr std::size_t most = 3;
  std::vector<double> spacing = read_numbers(dataset->dataset(), "element_size_um", most);
  for (const double s : spacing)
    if (!(s > 0) || !std::isfinite(s)) return {};
  const auto rank = static_cast<std::size_t>(in.shape.size());
  if (spacing.size() > rank) spacing.erase(spacing.begin(), spacing.end() - static_cast<std::ptrdiff_t>(rank));
  return spacing;
}

std::vector<std::string> hdf5_datasets(const std::string& file) {
  if (!std::filesystem::exists(file)) return {};
  return datasets_of(open_file(file, file, H5F_ACC_RDONLY).get());
}

void describe_hdf5_dataset(const std::string& place, const Hdf5Path& path, const Hdf5Description& about) {
  const std::string name = path.file + ":" + path.dataset;
  Handle file = open_file(place, path.file, H5F_ACC_RDWR);
  Handle dataset(H5Dopen2(file.get(), path.dataset.c_str(), H5P_DEFAULT), H5Dclose, name, "open");
  write_labels(dataset.get(), about.axes, name);
  write_numbers(dataset.get(), "element_size_um", about.spacing, name);
  write_numbers(dataset.get(), "scale", about.scale, name);
  write_numbers(dataset.get(), "translation", about.translation, name);
  if (!dataset.close() || !file.close()) fail_hdf5(name, "write");
}

void check_hdf5_output(const std::string& place, const Hdf5Path& path) {
  const Handle file = open_file(place, path.file, H5F_ACC_RDONLY);
  const Found found = find(file.get(), path.dataset, true);
  if (found == Found::nothing || found == Found::dataset) return;
  throw Error(fmt::format("{}: '{}' {}; allowed: a name that is free, or a dataset's, which is replaced", path.file,
                          path.dataset,
                          found == Found::group        ? "is a group"
                          : found == Found::in_the_way ? "leads through something that is not a group"
                          : found == Found::elsewhere  ? "leads into another file"
                                                       : "is not a dataset"));
}

bool is_same_hdf5_dataset(const std::string& file, const std::string& a, const std::string& b) {
  if (a == b) return true;
  const Handle opened = open_file(file, file, H5F_ACC_RDONLY);
  // Where a name stands: its group, which several paths may lead to, and its last part.
  const auto stands = [&](const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string group = slash == 0 ? "/" : path.substr(0, slash);
    H5O_info_t info{};
    if (find(opened.get(), path) == Found::nothing ||
        H5Oget_info_by_name(opened.get(), group.c_str(), &info, H5P_DEFAULT) < 0)
      return std::tuple(0UL, HADDR_UNDEF, path);
    return std::tuple(info.fileno, info.addr, path.substr(slash + 1));
  };
  return stands(a) == stands(b);
}

void add_hdf5_dataset(const std::string& place, const Hdf5Path& path, const std::string& from) {
  const std::string name = path.file + ":" + path.dataset;
  check_hdf5_output(place, path);
  const Handle source = open_file(from, path.file, H5F_ACC_RDONLY);
  Handle file = open_file(place, path.file, H5F_ACC_RDWR);
  if (find(file.get(), path.dataset) == Found::dataset && H5Ldelete(file.get(), path.dataset.c_str(), H5P_DEFAULT) < 0)
    fail_hdf5(name, "replace");
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, name, "describe the dataset");
  H5Pset_create_intermediate_group(links.get(), 1);
  if (H5Ocopy(source.get(), path.dataset.c_str(), file.get(), path.dataset.c_str(), H5P_DEFAULT, links.get()) < 0 ||
      !file.close())
    fail_hdf5(name, "write");
}

void create_hdf5_volume(const std::string& place, const Hdf5Path& path, const VolumeSpec& spec, bool fresh) {
  be_quiet();
  const std::string name = path.file + ":" + path.dataset;
  Handle file = fresh ? Handle(H5Fcreate(place.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path.file,
                               "make an HDF5 file")
                      : open_file(place, path.file, H5F_ACC_RDWR);
  // Deleted and made anew in one opening: the space is used again.
  if (!fresh && find(file.get(), path.dataset) == Found::dataset &&
      H5Ldelete(file.get(), path.dataset.c_str(), H5P_DEFAULT) < 0)
    fail_hdf5(name, "replace");
  const std::vector<hsize_t> sizes = sizes_of(spec.shape);
  const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose, name,
                     "describe the dataset");
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, name, "describe the dataset");
  H5Pset_create_intermediate_group(links.get(), 1);
  const Handle type = hdf5_type(spec.dtype), creation = creation_list(spec, name);
  Handle dataset(
      H5Dcreate2(file.get(), path.dataset.c_str(), type.get(), space.get(), links.get(), creation.get(), H5P_DEFAULT),
      H5Dclose, name, "make the dataset");
  if (const auto* const like = dynamic_cast<const Hdf5In*>(spec.like))
    copy_attributes(like->dataset(), dataset.get(), name);
  if (!spec.problem.empty()) write_attribute(dataset.get(), "oriel_problem", spec.problem, name);
  if (!dataset.close() || !file.close()) fail_hdf5(name, "write");
}

void write_hdf5_volume(const std::string& place, const Hdf5Path& path, const VolumeSpec& spec, bool fresh,
                       VolumeIn& values) {
  create_hdf5_volume(place, path, spec, fresh);
  const std::unique_ptr<VolumeOut> out = open_hdf5_output(place, path, spec, nullptr);
  const Buffer buffer = allocate(spec.dtype, {element_count(spec.chunk)});
  for_each_chunk(spec.chunk, Extents::filled(spec.shape.size(), 0), spec.shape, [&](const Extents& at) {
    Extents begin, shape;
    for (int d = 0; d < at.size(); ++d) {
      begin.push_back(at[d] * spec.chunk[d]);
      shape.push_back(std::min(spec.chunk[d], spec.shape[d] - begin[d]));
    }
    const Tensor box(buffer.view.data, spec.dtype, shape);
    values.read(begin, box);
    out->write(begin, box);
  });
  out->close();
}

std::unique_ptr<VolumeOut> open_hdf5_output(const std::string& place, const Hdf5Path& path, const VolumeSpec& spec,
                                            UseRanks ranks) {
  return std::make_unique<Hdf5Out>(place, path, spec, ranks);
}

}  // namespace oriel::io
