#include "io/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "io/file_identity.h"
#include "io/temporary_name.h"
#include "oriel/types.h"

namespace oriel::io {
namespace {

namespace fs = std::filesystem;

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

void OutputFolder::fail(const char* what) const {
  throw Error(fmt::format("{}: cannot {}: {}", path_, what, std::strerror(errno)));
}

OutputFolder::OutputFolder(const std::string& path, const char* format, IsFormat is_format)
    : path_(path),
      target_(without_slashes(follow_links(without_slashes(path)))),
      format_(format),
      is_format_(is_format) {
  struct stat info {};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (exists && !S_ISDIR(info.st_mode))
    throw Error(fmt::format("{}: a file; allowed: a new name, or {} to replace", path, format));
  if (exists && !may_replace(target_))
    throw Error(
        fmt::format("{}: a folder that is not {}; allowed: a new name, or {} to replace", path, format, format));
  remove_leftovers(target_);
  for (int attempt = 0;; ++attempt) {
    temporary_ = temporary_name(target_);
    watched_.emplace(temporary_);
    if (::mkdir(temporary_.c_str(), 0777) == 0) break;
    watched_.reset();
    if (errno == EEXIST && attempt < 10) continue;
    temporary_.clear();
    fail("write here");
  }
  if (exists) (void)::chmod(temporary_.c_str(), info.st_mode & 07777);  // a replaced folder keeps its permissions
}

bool OutputFolder::may_replace(const std::string& folder) const {
  std::error_code none;
  return fs::is_directory(folder, none) && (is_format_(folder) || (fs::is_empty(folder, none) && !none));
}

void OutputFolder::refuse_other() const {
  throw Error(fmt::format("{}: has been made by another program meanwhile, and is not {}; it was not replaced", path_,
                          format_));
}

OutputFolder::~OutputFolder() {
  std::error_code none;
  if (!temporary_.empty()) fs::remove_all(temporary_, none);
}

void OutputFolder::finish() {
  if (temporary_.empty()) return;
  // Of many files at once: one by one, each would wait for the disk.
  const int handle = ::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) fail("write");
  const int result = ::syncfs(handle), error = errno;
  ::close(handle);
  errno = error;
  if (result != 0) fail("write");
}

void OutputFolder::commit() {
  if (temporary_.empty()) return;
  finish();
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST || errno == EINVAL || errno == ENOSYS)
      replace();
    else
      fail("rename the finished folder");
  }
  sync_folder(fs::path(target_).parent_path().string());
  std::error_code none;
  fs::remove_all(temporary_, none);  // what was there before
  temporary_.clear();
  watched_.reset();
}

// Both get the other's name in one step. A file system that cannot do so is without the folder for a moment.
void OutputFolder::replace() {
  const auto exchange = [&] {
    return ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0;
  };
  if (exchange()) {
    if (may_replace(temporary_)) return;
    (void)exchange();
    refuse_other();
  }
  if (errno == ENOENT && ::rename(temporary_.c_str(), target_.c_str()) == 0) return;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOENT) fail("rename the finished folder");
  if (std::error_code none; fs::exists(target_, none) && !may_replace(target_)) refuse_other();
  const std::string old = temporary_name(target_);
  const bool there = ::rename(target_.c_str(), old.c_str()) == 0;
  if (!there && errno != ENOENT) fail("rename what is there");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    if (there) (void)::rename(old.c_str(), target_.c_str());
    errno = error;
    fail("rename the finished folder");
  }
  std::error_code none;
  if (there) fs::remove_all(old, none);
}

}  // namespace oriel::io
