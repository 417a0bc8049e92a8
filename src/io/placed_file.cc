#include "io/placed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace oriel::io {

PlacedFile::PlacedFile(const std::string& place, int flags, std::string file) : file_(std::move(file)) {
  constexpr mode_t mode = 0666;  // of a file that is made
  descriptor_ = ::open(place.c_str(), flags | O_CLOEXEC, mode);
  if (descriptor_ < 0) fail("open");
}

PlacedFile::~PlacedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

index_t PlacedFile::size() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) fail("read");
  return info.st_size;
}

void PlacedFile::resize(index_t bytes) {
  if (::ftruncate(descriptor_, bytes) != 0) fail("write");
}

index_t PlacedFile::read(void* to, index_t count, index_t at) const {
  index_t done = 0;
  while (done < count) {
    const ssize_t got =
        ::pread(descriptor_, static_cast<std::byte*>(to) + done, static_cast<std::size_t>(count - done), at + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) break;
    done += got;
  }
  return done;
}

void PlacedFile::write(const void* from, index_t count, index_t at) {
  for (index_t done = 0; done < count;) {
    const ssize_t put = ::pwrite(descriptor_, static_cast<const std::byte*>(from) + done,
                                 static_cast<std::size_t>(count - done), at + done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write");
    done += put;
  }
}

void PlacedFile::close() {
  if (::fsync(descriptor_) != 0) fail("write");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("write");
}

void PlacedFile::fail(const char* what) const {
  throw Error(fmt::format("{}: cannot {}: {}", file_, what, std::strerror(errno)));
}

}  // namespace oriel::io
