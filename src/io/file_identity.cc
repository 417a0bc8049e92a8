#include "io/file_identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "oriel/types.h"

namespace oriel::io {
namespace {

constexpr int kMostLinks = 40;  // as the system allows

std::int64_t nanoseconds(const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

}  // namespace

std::string follow_links(std::string path) {
  const std::string given = path;
  for (int hops = 0; hops < kMostLinks; ++hops) {
    std::error_code none;
    const std::filesystem::path link = std::filesystem::read_symlink(path, none);
    if (none) return path;
    path = (std::filesystem::path(path).parent_path() / link).string();
  }
  throw Error(fmt::format("{}: cannot write here: {}", given, std::strerror(ELOOP)));
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat info {};
  if (path == "-") {
    if (::fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    return FileIdentity{info.st_dev, info.st_ino, ""};
  }
  if (::stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return std::nullopt;
    return FileIdentity{info.st_dev, info.st_ino, ""};
  }
  if (errno != ENOENT) return std::nullopt;
  const std::filesystem::path target = follow_links(path);
  const std::string folder = target.parent_path().string();
  if (::stat(folder.empty() ? "." : folder.c_str(), &info) != 0) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino, target.filename().string()};
}

bool is_same_file(const std::string& a, const std::string& b) {
  const std::optional<FileIdentity> first = identity_of(a);
  return first && first == identity_of(b);
}

void sync_folder(const std::string& folder) noexcept {
  const int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  (void)::fsync(handle);
  ::close(handle);
}

FileState state_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

}  // namespace oriel::io
