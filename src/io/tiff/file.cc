#include "io/tiff/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "byte_order.h"
#include "io/input_file.h"
#include "io/memory_bound.h"
#include "quoted.h"

namespace oriel::io::tiff {
Source file_source(const std::string& path) {
  if (!is_regular(path))
    throw Error(fmt::format("{}: a pipe or a device; allowed: a file, whose parts can be read", path));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0)
    throw Error(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  const std::shared_ptr<void> owner(nullptr, [descriptor](void*) { ::close(descriptor); });
  const auto read = [descriptor, owner](void* to, index_t count, index_t at) -> index_t {
    index_t done = 0;
    while (done < count) {
      const ssize_t got =
          ::pread(descriptor, static_cast<std::byte*>(to) + done, static_cast<std::size_t>(count - done), at + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return -1;
      if (got == 0) break;
      done += got;
    }
    return done;
  };
  return {read, info.st_size};
}

Source memory_source(std::span<const std::byte> bytes) {
  const auto read = [bytes](void* to, index_t count, index_t at) -> index_t {
    const auto size = static_cast<index_t>(bytes.size());
    if (at < 0 || at >= size || count <= 0) return 0;
    const index_t there = std::min(count, size - at);
    std::memcpy(to, bytes.data() + at, static_cast<std::size_t>(there));
    return there;
  };
  return {read, static_cast<index_t>(bytes.size())};
}

// What libtiff calls. Nothing may be thrown through it.
struct File::Calls {
  static File& of(thandle_t handle) { return *static_cast<File*>(handle); }

  static tmsize_t read(thandle_t handle, void* to, tmsize_t count) {
    File& f = of(handle);
    const index_t got = f.source_.read(to, count, f.at_);
    if (got > 0) f.at_ += got;
    return got;
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return -1; }
  static toff_t seek(thandle_t handle, toff_t to, int from) {
    File& f = of(handle);
    // libtiff hands over negative steps as large unsigned ones.
    const auto step = static_cast<index_t>(to);
    const index_t base = from == SEEK_CUR ? f.at_ : from == SEEK_END ? f.source_.size : 0;
    index_t place = 0;
    if (__builtin_add_overflow(base, step, &place) || place < 0) return static_cast<toff_t>(-1);
    f.at_ = place;
    return static_cast<toff_t>(place);
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return static_cast<toff_t>(of(handle).source_.size); }
  static int map(thandle_t, void**, toff_t*) { return 0; }
  static void unmap(thandle_t, void*, toff_t) {}
};

File::File(Source source, std::string name) : source_(std::move(source)), name_(std::move(name)) {
  const auto options = errors_.options();
  if (!options) fail("out of memory");
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), std::max<index_t>(memory_bound(), 1));
  // m: not mapped, whose pages would count as memory; O: places of tiles and strips are read when they are needed.
  tiff_ = TIFFClientOpenExt(name_.c_str(), "rmO", this, &Calls::read, &Calls::write, &Calls::seek, &Calls::close,
                            &Calls::size, &Calls::map, &Calls::unmap, options.get());
  if (tiff_ == nullptr) fail("it does not begin as a TIFF does");
  check_directory();
}

File::~File() { close(); }

void File::close() {
  if (tiff_ != nullptr) TIFFClose(tiff_);
  tiff_ = nullptr;
}

// libtiff takes a directory whose end is cut off, with the place of the next one, for the last.
void File::check_directory() {
  const bool big = TIFFIsBigTIFF(tiff_) != 0;
  const index_t at = static_cast<index_t>(TIFFCurrentDirOffset(tiff_));
  std::array<std::byte, sizeof(std::uint64_t)> head{};
  const index_t head_bytes = big ? 8 : 2, entry_bytes = big ? 20 : 12, next_bytes = big ? 8 : 4;
  const bool there = source_.read(head.data(), head_bytes, at) == head_bytes;
  const bool big_endian = (TIFFIsByteSwapped(tiff_) != 0) != detail::kBigEndian;
  index_t entries = 0;
  for (index_t i = 0; i < head_bytes; ++i)
    entries =
        (entries << 8) | std::to_integer<index_t>(head[static_cast<std::size_t>(big_endian ? i : head_bytes - 1 - i)]);
  const index_t most = (source_.size - at - head_bytes - next_bytes) / entry_bytes;
  if (there && entries >= 0 && entries <= most && source_.size - at >= head_bytes + next_bytes) return;
  close();
  refuse(fmt::format("the TIFF is cut off in the directory at {}", at));
}

void File::read_raw(void* to, index_t count, index_t at) const {
  const index_t got = source_.read(to, count, at);
  if (got < 0) refuse(fmt::format("cannot read: {}", std::strerror(errno)));
  if (got < count)
    refuse(fmt::format("the TIFF is cut off: {} bytes are needed at {}, but there are {}", count, at, got));
}

std::string File::text(std::uint32_t tag) const {
  const char* text = nullptr;
  return TIFFGetField(tiff_, tag, &text) == 1 && text != nullptr ? text : "";
}

void File::go_to(std::uint64_t directory) {
  errors_.said.clear();
  if (TIFFSetSubDirectory(tiff_, directory) != 1) fail("a directory is damaged");
  check_directory();
}

bool File::next() {
  errors_.said.clear();
  if (TIFFReadDirectory(tiff_) == 1) {
    check_directory();
    return true;
  }
  // At the end nothing is said.
  if (!errors_.said.empty()) fail("a directory is damaged");
  return false;
}

void File::fail(const std::string& otherwise) const {
  refuse("cannot read the TIFF: " +
         (errors_.said.empty() ? otherwise : detail::shortened(errors_.said, Errors::kMostText)));
}

void File::refuse(const std::string& text) const { throw Error(fmt::format("{}: {}", name_, text)); }

}  // namespace oriel::io::tiff
