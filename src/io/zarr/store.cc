#include "io/zarr/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace oriel::io::zarr {
namespace {

[[noreturn]] void fail(const std::string& file, const char* what) {
  throw Error(fmt::format("{}: cannot {}: {}", file, what, std::strerror(errno)));
}

void copy_axis(const ConstTensor& from, const Tensor& to, int axis, const std::byte* source, std::byte* target) {
  const index_t size = size_bytes(from.dtype), n = axis < from.rank() ? from.shape[axis] : 1;
  const index_t step = axis < from.rank() ? from.pitch[axis] * size : 0;
  const index_t stride = axis < from.rank() ? to.pitch[axis] * size : 0;
  if (axis + 1 < from.rank()) {
    for (index_t i = 0; i < n; ++i) copy_axis(from, to, axis + 1, source + i * step, target + i * stride);
  } else if (step == size && stride == size) {
    std::memcpy(target, source, static_cast<std::size_t>(n * size));
  } else {
    const auto each = [&](auto constant) {
      for (index_t i = 0; i < n; ++i) std::memcpy(target + i * stride, source + i * step, constant);
    };
    switch (size) {
      case 1:
        return each(std::integral_constant<std::size_t, 1>());
      case 2:
        return each(std::integral_constant<std::size_t, 2>());
      case 4:
        return each(std::integral_constant<std::size_t, 4>());
      default:
        return each(std::integral_constant<std::size_t, 8>());
    }
  }
}

}  // namespace

StoreFile::StoreFile(std::string path, int descriptor, std::size_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
StoreFile::StoreFile(StoreFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
StoreFile::~StoreFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<StoreFile> StoreFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe does not wait
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail(path, "open");
  }
  StoreFile file(path, descriptor, 0);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) fail(path, "read");
  if (!S_ISREG(info.st_mode)) throw Error(fmt::format("{}: a folder, a pipe or a device; allowed: a file", path));
  file.size_ = static_cast<std::size_t>(info.st_size);
  return file;
}

Bytes StoreFile::read(std::size_t at, std::size_t count) const {
  if (at > size_ || count > size_ - at)
    throw Error(
        fmt::format("{}: cut off: {} bytes from byte {} are needed, but there are {}", path_, count, at, size_));
  Bytes bytes(count);
  for (std::size_t done = 0; done < count;) {
    const ssize_t got = ::pread(descriptor_, bytes.data() + done, count - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read");
    if (got == 0) throw Error(fmt::format("{}: the file became shorter while it was being read", path_));
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::optional<Bytes> read_file(const std::string& path, std::size_t most) {
  const std::optional<StoreFile> file = StoreFile::open(path);
  if (!file) return std::nullopt;
  if (file->size() > most)
    throw Error(fmt::format("{}: the file has {} bytes; allowed: at most {}", path, file->size(), most));
  return file->read(0, file->size());
}

std::optional<std::string> read_text_file(const std::string& path, std::size_t most) {
  const std::optional<Bytes> bytes = read_file(path, most);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

void write_file(const std::string& path, std::span<const std::byte> bytes, const std::string& name) {
  constexpr mode_t mode = 0666;
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), flags, mode);
  if (descriptor < 0 && errno == ENOENT) {
    make_folder(std::filesystem::path(path).parent_path().string(), name);
    descriptor = ::open(path.c_str(), flags, mode);
  }
  if (descriptor < 0) fail(name, "write");
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int error = errno;
      ::close(descriptor);
      errno = error;
      fail(name, "write");
    }
    done += static_cast<std::size_t>(put);
  }
  if (::close(descriptor) != 0) fail(name, "write");
}

void make_folder(const std::string& path, const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Error(fmt::format("{}: cannot write: {}", name, error.message()));
}

bool is_zero(std::span<const std::byte> bytes) {
  // Each byte is as the one before it, and the first is zero: at the speed of memcmp.
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void copy_box(const ConstTensor& from, const Tensor& to) {
  if (element_count(from.shape) == 0) return;
  copy_axis(from, to, 0, static_cast<const std::byte*>(from.data), static_cast<std::byte*>(to.data));
}

Overlap overlap(const Extents& chunk_begin, const Extents& chunk, const Extents& begin, const Extents& box) {
  Overlap o;
  for (int d = 0; d < chunk.size(); ++d) {
    const index_t first = std::max(chunk_begin[d], begin[d]);
    o.in_chunk.push_back(first - chunk_begin[d]);
    o.in_box.push_back(first - begin[d]);
    o.shape.push_back(std::min(chunk_begin[d] + chunk[d], begin[d] + box[d]) - first);
  }
  return o;
}

index_t offset(const Extents& place, const Extents& pitch) {
  index_t sum = 0;
  for (int d = 0; d < place.size(); ++d) sum += place[d] * pitch[d];
  return sum;
}

}  // namespace oriel::io::zarr
