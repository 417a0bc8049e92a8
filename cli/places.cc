#include "cli/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/file_identity.h"
#include "io/files.h"
#include "io/hdf5.h"
#include "io/npz.h"
#include "io/precomputed/volume.h"
#include "io/tiff/volume.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr const char* kDefaultDataset = "/data";

// `part`: what was read, as IN need not name it.
Place input_place(const std::string& path, const std::string& part) {
  if (path == "-") return {part.empty() ? Place::Kind::stream : Place::Kind::npz, path, path, part};
  if (const auto hdf5 = io::split_hdf5_path(path))
    return {Place::Kind::hdf5, path, hdf5->file, io::normal_hdf5_name(part)};
  if (const auto precomputed = io::split_precomputed_path(path))
    return {Place::Kind::whole, path, precomputed->folder, ""};
  const std::string file = io::split_input_path(path).file;
  return {part.empty() ? Place::Kind::whole : Place::Kind::npz, path, file, part};
}

bool is_stdout(const Place& out) { return out.kind == Place::Kind::stream; }

[[noreturn]] void refuse(const char* what, const Place& place, const Place& other, const char* name,
                         const std::string& more) {
  const bool whole = place.kind == Place::Kind::whole || place.kind != other.kind;
  throw UsageError("oriel pool", fmt::format("{}: '{}' is {} too; allowed: another file{}{}", what,
                                             detail::printable(place.path), name,
                                             whole          ? ""
                                             : more.empty() ? " or another name in it"
                                                            : ", another name in it",
                                             more));
}

// A folder that is replaced must not hold what is read.
void refuse_to_replace_around(const Place& out, const Place& read, const char* name) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (is_stdout(out) || !fs::is_directory(out.file, none)) return;
  const fs::path folder = fs::canonical(out.file, none), inner = fs::weakly_canonical(read.file, none);
  const auto [end, at] = std::mismatch(folder.begin(), folder.end(), inner.begin(), inner.end());
  if (end != folder.end() || at == inner.end()) return;
  throw UsageError("oriel pool", fmt::format("OUT: '{}' holds {}, '{}'; allowed: a folder without it",
                                             detail::printable(out.path), name, detail::printable(read.path)));
}

}  // namespace

Place output_place(const std::string& path, const std::string& format) {
  if (path == "-") return {Place::Kind::stream, path, path, ""};
  if (format.empty())
    if (const auto hdf5 = io::split_hdf5_path(path))
      return {Place::Kind::hdf5, path, hdf5->file,
              hdf5->dataset.empty() ? kDefaultDataset : io::normal_hdf5_name(hdf5->dataset)};
  if (format.empty() && io::is_tiff_volume(path))
    return {Place::Kind::whole, path, path.substr(0, path.size() - io::kAllPages.size()), ""};
  const io::NpzPath npz = io::split_npz_path(path);
  const bool archive =
      format.empty() ? !npz.name.empty() || path.ends_with(".npz") || path.ends_with(".NPZ") : format == "npz";
  if (archive) return {Place::Kind::npz, path, npz.file, io::npz_array_name(npz.name)};
  return {Place::Kind::whole, path, path, ""};
}

bool share_file(const Place& a, const Place& b) {
  return a.kind == b.kind && (a.kind == Place::Kind::npz || a.kind == Place::Kind::hdf5) &&
         io::is_same_file(a.file, b.file);
}

bool is_same_place(const Place& a, const Place& b) {
  if (!io::is_same_file(a.file, b.file)) return false;
  if (!share_file(a, b)) return true;  // one of them is all of the file
  if (a.part == b.part) return true;
  return a.kind == Place::Kind::hdf5 && io::state_of(a.file).there() &&
         io::is_same_hdf5_dataset(a.file, a.part, b.part);
}

void check_beside_place(const PoolCommand& c, const char* option, const std::string& path, const std::string& part) {
  const Place beside = input_place(path, part), out = output_place(c.out, c.format);
  refuse_to_replace_around(out, beside, option);
  if (!is_stdout(out) && is_same_place(out, beside)) refuse("OUT", out, beside, option, "");
  if (c.indices.empty()) return;
  const Place indices = output_place(c.indices, "");
  if (is_same_place(indices, beside)) refuse("--indices", indices, beside, option, "");
}

void check_places(const PoolCommand& c, const std::string& part) {
  const Place in = input_place(c.in, part), out = output_place(c.out, c.format);
  if (!c.indices.empty()) {
    const Place indices = output_place(c.indices, "");
    if (!is_stdout(out) && is_same_place(indices, out)) refuse("--indices", indices, out, "OUT", "");
    if (is_same_place(indices, in)) refuse("--indices", indices, in, "IN", "");
  }
  refuse_to_replace_around(out, in, "IN");
  if (!c.replace_input && !is_stdout(out) && is_same_place(out, in))
    refuse("OUT", out, in, "IN", ", or --replace-input if IN is no longer wanted");
}

}  // namespace oriel::cli
