#include "io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "io/file_identity.h"
#include "io/temporary_name.h"
#include "oriel/types.h"

namespace oriel::io {

void OutputFile::fail(const char* what) const {
  throw Error(fmt::format("{}: cannot {}: {}", path_, what, std::strerror(errno)));
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path == "-") {
    path_ = "standard output";
    descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail("write");
    return;
  }
  target_ = follow_links(path);
  struct stat info {};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) throw Error(fmt::format("{}: a folder; allowed: a file", path));
  if (exists && !S_ISREG(info.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("write");
    return;
  }
  remove_leftovers(target_);
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = temporary_name(target_);
    watched_.emplace(temporary_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) break;
    watched_.reset();
    if (errno == EEXIST && attempt < 10) continue;
    temporary_.clear();
    fail("write here");
  }
  if (exists) ::fchmod(descriptor_, info.st_mode & 07777);  // a replaced file keeps its permissions
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(const void* from, std::size_t count) {
  const auto* at = static_cast<const std::byte*>(from);
  while (count > 0) {
    const ssize_t done = ::write(descriptor_, at, count);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write");
    at += done;
    count -= static_cast<std::size_t>(done);
  }
}

void OutputFile::write_at(const void* from, std::size_t count, std::int64_t at) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t put = ::pwrite(descriptor_, static_cast<const std::byte*>(from) + done, count - done,
                                 at + static_cast<std::int64_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write");
    done += static_cast<std::size_t>(put);
  }
}

void OutputFile::begin_with(const std::string& path) {
  const int from = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) fail("read what is there");
  constexpr std::size_t at_once = std::size_t{1} << 30;
  ssize_t done = 0;
  do {
    done = ::copy_file_range(from, nullptr, descriptor_, nullptr, at_once, 0);
  } while (done > 0 || (done < 0 && errno == EINTR));
  if (done < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
    std::vector<std::byte> some(std::size_t{1} << 20);
    while ((done = ::read(from, some.data(), some.size())) > 0 || (done < 0 && errno == EINTR))
      if (done > 0) write(some.data(), static_cast<std::size_t>(done));
  }
  const int error = errno;
  ::close(from);
  errno = error;
  if (done < 0) fail("copy what is there");
}

void OutputFile::finish() {
  if (descriptor_ < 0) return;
  if (!temporary_.empty() && ::fsync(descriptor_) != 0) fail("write");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("write");
}

void OutputFile::commit() {
  finish();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename the finished file");
  temporary_.clear();
  watched_.reset();
  sync_folder(std::filesystem::path(target_).parent_path().string());
}

}  // namespace oriel::io
