#include "io/ome/level_moves.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "io/temporary_name.h"
#include "io/zarr/metadata.h"
#include "io/zarr/store.h"
#include "quoted.h"

namespace oriel::io::ome {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kList = "/marked.json";

// Whether a path leads to a folder below the one that it is relative to.
bool is_below(const std::string& level) {
  const fs::path path = fs::path(level).lexically_normal();
  return !path.empty() && !path.is_absolute() && *path.begin() != ".." && path != ".";
}

}  // namespace

LevelMoves::LevelMoves(std::string group, std::string waiting, std::string name)
    : group_(std::move(group)), waiting_(std::move(waiting)), name_(std::move(name)) {}

void LevelMoves::mark(const std::vector<std::string>& coming, const std::vector<std::string>& leaving) const {
  std::vector<std::string> all = coming;
  all.insert(all.end(), leaving.begin(), leaving.end());
  const std::string text = Json(all).dump(-1, ' ', true, Json::error_handler_t::replace);
  zarr::write_file(waiting_ + kList, std::as_bytes(std::span(text)), name_);
  const std::string file = fs::path(waiting_).filename().string();
  for (const std::string& level : coming) zarr::write_file(waiting_ + "/" + level + "/" + file, {}, name_);
  for (const std::string& level : leaving) zarr::write_file(in_group(level) + "/" + file, {}, name_);
}

void LevelMoves::move_in(const std::string& level) const {
  const std::string from = waiting_ + "/" + level, to = in_group(level);
  zarr::make_folder(fs::path(to).parent_path().string(), name_);
  std::error_code none;
  int error = 0;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) error = errno;
  if ((error == EINVAL || error == ENOSYS) && !fs::exists(to, none))
    error = ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  if (error == 0) return;
  if (fs::exists(to, none))
    throw Error(
        fmt::format("{}: {} has been made by another program; nothing was added", name_, detail::printable(to)));
  throw Error(fmt::format("{}: cannot rename what is finished: {}", name_, std::strerror(error)));
}

void LevelMoves::move_out(const std::string& level) const {
  std::error_code error;
  const fs::path from = in_group(level);
  // Removed in one step as far as the group is concerned: a run that is killed then leaves nothing in it.
  fs::rename(from, temporary_name(waiting_ + "/gone"), error);
  if (error) fs::remove_all(from, error);
  if (from.parent_path() != fs::path(group_)) fs::remove(from.parent_path(), error);  // if nothing else is there
}

void LevelMoves::remove_mark(const std::string& level) const {
  std::error_code none;
  fs::remove(in_group(level) + "/" + fs::path(waiting_).filename().string(), none);
}

bool LevelMoves::has_mark(const std::string& level) const {
  std::error_code none;
  return is_below(level) && fs::exists(in_group(level) + "/" + fs::path(waiting_).filename().string(), none);
}

std::vector<std::string> LevelMoves::marked() const {
  std::vector<std::string> levels;
  Json list;
  try {
    list = Json::parse(zarr::read_text_file(waiting_ + kList, zarr::kMostMetadata).value_or(""), nullptr, false);
  } catch (const Error&) {
    return levels;
  }
  if (!list.is_array()) return levels;
  for (const Json& level : list) {
    if (level.is_string()) levels.push_back(level.get<std::string>());
  }
  return levels;
}

std::string waiting_levels(const std::string& group) { return group + "/.levels"; }

void remove_unnamed_levels(const std::string& group, const std::vector<std::string>& named) {
  remove_leftovers(waiting_levels(group), [&](const std::string& leftover) {
    const LevelMoves moves(group, leftover, group);
    for (const std::string& level : moves.marked()) {
      if (!moves.has_mark(level)) continue;
      if (std::find(named.begin(), named.end(), level) != named.end())
        moves.remove_mark(level);
      else
        moves.move_out(level);
    }
  });
}

}  // namespace oriel::io::ome
