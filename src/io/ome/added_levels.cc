#include "io/ome/added_levels.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "io/file_identity.h"
#include "io/ome/level_moves.h"
#include "io/ome/levels_out.h"
#include "io/output_folder.h"
#include "io/writer_lock.h"
#include "io/zarr/metadata.h"
#include "io/zarr/store.h"
#include "quoted.h"

namespace oriel::io::ome {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string metadata_name(const Multiscales& image) { return image.version == "0.4" ? "/.zattrs" : "/zarr.json"; }

Multiscales image_of(const std::string& path) {
  if (const auto image = read_multiscales(zarr::without_slashes(path))) return *image;
  throw Error(fmt::format("{}: not an OME-Zarr image; allowed: a folder whose metadata have multiscales, 0.4 or 0.5",
                          detail::printable(path)));
}

// Levels wait in a folder of the group.
class AddedLevels : public Output {
 public:
  explicit AddedLevels(const std::string& path)
      : path_(path),
        group_(zarr::without_slashes(follow_links(zarr::without_slashes(path)))),
        before_(image_of(group_)),
        state_(state_of(group_ + metadata_name(before_))),
        waiting_(waiting_levels(group_), "levels that wait", [](const std::string&) { return false; }) {}

  const std::string& target() const override { return group_; }
  const std::string& place() const override { return waiting_.place(); }
  void finish() override { waiting_.finish(); }

  void commit() override {
    const Multiscales after = image_of(place());
    const LevelMoves moves(group_, place(), path_);
    finish();
    const WriterLock lock(group_ + "/levels", path_);
    if (state_of(group_ + metadata_name(before_)) != state_) refuse_change();
    waiting_.keep_on_signal();
    const std::vector<std::string> coming = paths_above(after), leaving = leaving_levels();
    std::vector<std::string> moved;
    try {
      moves.mark(coming, leaving);
      for (const std::string& level : coming) {
        moves.move_in(level);
        moved.push_back(level);
      }
      exchange_metadata();
    } catch (...) {
      for (const std::string& level : moved) moves.move_out(level);
      for (const std::string& level : leaving) moves.remove_mark(level);
      throw;
    }
    std::error_code none;
    fs::remove(group_ + "/.zmetadata", none);
    sync_folder(group_);
    for (const std::string& level : leaving) moves.move_out(level);
    for (const std::string& level : coming) moves.remove_mark(level);
  }

 private:
  static std::vector<std::string> paths_above(const Multiscales& image) {
    std::vector<std::string> paths;
    for (std::size_t l = 1; l < image.levels.size(); ++l) paths.push_back(image.levels[l].path);
    return paths;
  }
  std::vector<std::string> leaving_levels() const {
    std::vector<std::string> paths = paths_above(before_);
    std::error_code none;
    std::erase_if(paths,
                  [&](const std::string& p) { return !is_apart(p) || !fs::is_directory(group_ + "/" + p, none); });
    return paths;
  }
  [[noreturn]] void refuse_change() const {
    throw Error(fmt::format("{}: its metadata have been changed by another program; nothing was added", path_));
  }
  // In one step, and what was there is looked at: a program that takes no lock may have written it just now.
  void exchange_metadata() const {
    const std::string there = group_ + metadata_name(before_), ready = place() + metadata_name(before_);
    const auto exchange = [&] {
      return ::renameat2(AT_FDCWD, ready.c_str(), AT_FDCWD, there.c_str(), RENAME_EXCHANGE) == 0;
    };
    if (exchange()) {
      const FileState now = state_of(ready);  // whose time of change is that of the exchange
      if (now.size == state_.size && now.modified == state_.modified) return;
      (void)exchange();
      refuse_change();
    }
    if (errno == ENOENT) refuse_change();
    if ((errno == EINVAL || errno == ENOSYS) && ::rename(ready.c_str(), there.c_str()) == 0) return;
    throw Error(fmt::format("{}: cannot rename what is finished: {}", path_, std::strerror(errno)));
  }
  // Whether a level's folder is in the group and holds no more than the level.
  bool is_apart(const std::string& level) const {
    const fs::path path = fs::path(level).lexically_normal();
    if (path.empty() || path.is_absolute() || *path.begin() == ".." || path == ".") return false;
    const fs::path base = fs::path(before_.levels.front().path).lexically_normal();
    return std::mismatch(path.begin(), path.end(), base.begin(), base.end()).first != path.end();
  }

  std::string path_, group_;
  Multiscales before_;
  FileState state_;
  OutputFolder waiting_;
};

// Level 0 is there already.
LevelsSpec without_base(const LevelsSpec& spec) {
  LevelsSpec added = spec;
  added.image.levels.erase(added.image.levels.begin());
  added.levels.erase(added.levels.begin());
  return added;
}

class AddedOut : public LevelsOut {
 public:
  explicit AddedOut(std::unique_ptr<LevelsOut> levels) : levels_(std::move(levels)) {}
  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    levels_->write(level - 1, begin, chunk);
  }
  void write_part(int level, const Extents& begin, const ConstTensor& box) override {
    levels_->write_part(level - 1, begin, box);
  }
  void write_uniform(int level, const Extents& begin, const Extents& shape, const void* element, Dtype dtype) override {
    levels_->write_uniform(level - 1, begin, shape, element, dtype);
  }
  void close() override { levels_->close(); }

 private:
  std::unique_ptr<LevelsOut> levels_;
};

std::unique_ptr<Output> make_output(const std::string& path) { return std::make_unique<AddedLevels>(path); }

void create(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  create_levels(place, path, without_base(spec));
}

std::unique_ptr<LevelsOut> open(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  return std::make_unique<AddedOut>(open_levels(place, path, without_base(spec)));
}

// The group's metadata as they will be, in the folder that waits.
void complete(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  complete_arrays(place, path, without_base(spec));
  const std::string name = metadata_name(spec.image), file = zarr::without_slashes(path) + name;
  const auto text = zarr::read_text_file(file, zarr::kMostMetadata);
  if (!text) throw Error(fmt::format("{}: is gone", file));
  const std::string made = with_levels(*text, spec.image, file);
  zarr::write_file(place + name, std::as_bytes(std::span(made)), path);
}

}  // namespace

const LevelsFormat& added_levels() {
  static constexpr LevelsFormat format{.ending = ".zarr",
                                       .is = &is_levels_path,
                                       .make_output = &make_output,
                                       .create = &create,
                                       .open = &open,
                                       .complete = &complete};
  return format;
}

void remove_unnamed(const std::string& group) {
  if (const auto image = read_multiscales(zarr::without_slashes(group))) {
    std::vector<std::string> named;
    for (const Level& level : image->levels) named.push_back(level.path);
    remove_unnamed_levels(zarr::without_slashes(follow_links(zarr::without_slashes(group))), named);
  }
}

std::vector<std::string> free_level_paths(const std::string& group, const Multiscales& image, std::size_t count) {
  const std::string& base = image.levels.front().path;
  const std::size_t zero = base.rfind('0');
  std::vector<std::string> paths;
  for (std::size_t l = 1; l <= count; ++l) {
    std::string path = std::to_string(l);
    if (zero != std::string::npos) path = base.substr(0, zero) + path + base.substr(zero + 1);
    std::string free = path;
    std::error_code none;
    for (int turn = 2; fs::exists(zarr::without_slashes(group) + "/" + free, none); ++turn)
      free = fmt::format("{}-{}", path, turn);
    paths.push_back(free);
  }
  return paths;
}

}  // namespace oriel::io::ome
