#include "io/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/memory_bound.h"
#include "oriel/types.h"

namespace oriel::io {
namespace {

[[noreturn]] void fail(const std::string& file, std::string_view what) {
  throw Error(fmt::format("{}: cannot {}: {}", file, what, std::strerror(errno)));
}

// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (value_ < 0) fail(path, "open");
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(value_); }
  int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

bool is_regular(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) fail(path, "open");
  if (S_ISDIR(info.st_mode)) throw Error(fmt::format("{}: a folder; allowed: a file", path));
  return S_ISREG(info.st_mode);
}

MappedFile map_file(const std::string& path) {
  const Descriptor file(path);
  struct stat info {};
  if (::fstat(file.value(), &info) != 0) fail(path, "read");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) throw Error(fmt::format("{}: the file is empty", path));
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value(), 0);
  if (begin == MAP_FAILED) fail(path, "map");
  std::shared_ptr<const void> memory(begin, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return {{static_cast<const std::byte*>(begin), size}, std::move(memory)};
}

ReadBytes read_descriptor(int descriptor, std::string file) {
  return [descriptor, file = std::move(file)](void* to, std::size_t count) {
    ssize_t got = 0;
    do {
      got = ::read(descriptor, to, count);
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail(file, "read");
    return static_cast<std::size_t>(got);
  };
}

ReadBytes open_stream(const std::string& path) {
  auto file = std::make_shared<Descriptor>(path);
  return [file, read = read_descriptor(file->value(), path)](void* to, std::size_t count) { return read(to, count); };
}

std::size_t read_fully(const ReadBytes& read, void* to, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const std::size_t got = read(static_cast<std::byte*>(to) + done, count - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::vector<std::byte> read_all(const ReadBytes& read, const std::string& file) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  for (;;) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + chunk);
    const std::size_t got = read_fully(read, bytes.data() + begin, chunk);
    bytes.resize(begin + got);
    if (got < chunk) return bytes;
    check_memory(file, "the stream", static_cast<index_t>(bytes.size()));
  }
}

ReadBytes put_back(std::vector<std::byte> head, ReadBytes rest) {
  return [head = std::move(head), rest = std::move(rest), at = std::size_t{0}](void* to, std::size_t count) mutable {
    if (at == head.size()) return rest(to, count);
    const std::size_t n = std::min(count, head.size() - at);
    std::memcpy(to, head.data() + at, n);
    at += n;
    return n;
  };
}

std::vector<std::byte> read_head(const ReadBytes& read) {
  std::vector<std::byte> head(kFormatBytes);
  head.resize(read_fully(read, head.data(), head.size()));
  return head;
}

}  // namespace oriel::io
