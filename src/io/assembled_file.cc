#include "io/assembled_file.h"

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
constexpr mode_t kPermissions = 07777;
}  // namespace

void AssembledFile::fail(const char* what) const {
  throw Error(fmt::format("{}: cannot {}: {}", path_, what, std::strerror(errno)));
}

AssembledFile::AssembledFile(const std::string& path) : path_(path), target_(follow_links(path)) {
  struct stat info {};
  if (::stat(target_.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    throw Error(fmt::format("{}: a {}; allowed: a file", path, S_ISDIR(info.st_mode) ? "folder" : "pipe or a device"));
  remove_leftovers(target_);
  constexpr int most = 10;
  for (int attempt = 0;; ++attempt) {
    temporary_ = temporary_name(target_);
    watched_.emplace(temporary_);
    if (::mkdir(temporary_.c_str(), 0777) == 0) break;
    watched_.reset();
    if (errno == EEXIST && attempt < most) continue;
    temporary_.clear();
    fail("write here");
  }
}

AssembledFile::~AssembledFile() {
  std::error_code none;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, none);
}

void AssembledFile::finish() {
  if (temporary_.empty()) return;
  const int descriptor = ::open(whole(temporary_).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("write");
  struct stat info {};
  if (::stat(target_.c_str(), &info) == 0) (void)::fchmod(descriptor, info.st_mode & kPermissions);
  const int result = ::fsync(descriptor), error = errno;
  ::close(descriptor);
  errno = error;
  if (result != 0) fail("write");
}

void AssembledFile::commit() {
  if (temporary_.empty()) return;
  finish();
  if (std::rename(whole(temporary_).c_str(), target_.c_str()) != 0) fail("rename the finished file");
  std::error_code none;
  std::filesystem::remove_all(temporary_, none);
  temporary_.clear();
  watched_.reset();
  sync_folder(std::filesystem::path(target_).parent_path().string());
}

}  // namespace oriel::io
