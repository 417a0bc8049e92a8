// Files of weights: opens one and tells by its first bytes which format it has.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "nn/weights/formats.h"

namespace oriel::nn {
namespace {

constexpr int kLastProtocol = 5;  // of pickle

[[noreturn]] void fail(const std::string& file, std::string_view what) {
  throw Error(fmt::format("{}: cannot {}: {}", file, what, std::strerror(errno)));
}

// A regular file, mapped read-only.
std::pair<Bytes, Keep> map_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "open");
  const auto close = [](const int* d) { ::close(*d); };
  const std::unique_ptr<const int, decltype(close)> guard(&descriptor, close);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) fail(path, "read");
  if (!S_ISREG(info.st_mode)) throw Error(fmt::format("{}: not a regular file; weights are mapped from one", path));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) throw Error(fmt::format("{}: the file is empty", path));
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (begin == MAP_FAILED) fail(path, "map");
  Keep memory(begin, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return {{static_cast<const std::byte*>(begin), size}, memory};
}

bool begins(Bytes bytes, std::initializer_list<int> head, std::size_t at = 0) {
  return bytes.size() >= at + head.size() &&
         std::equal(head.begin(), head.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    [](int a, std::byte b) { return a == std::to_integer<int>(b); });
}

// Says what the bytes are, as far as their beginning tells, and what is accepted.
[[noreturn]] void refuse_unknown(Bytes bytes, const std::string& file) {
  // The number 0x1950a86a20f9469cfc6c as a pickle: how PyTorch before 1.6 began its files.
  if (begins(bytes, {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19}))
    throw Error(
        fmt::format("{}: the form that PyTorch wrote before version 1.6; load and save it again with a newer "
                    "PyTorch, or as safetensors",
                    file));
  if (begins(bytes, {'u', 's', 't', 'a', 'r'}, 257))
    throw Error(
        fmt::format("{}: a tar archive, as PyTorch wrote before version 0.2; load and save it again with a "
                    "newer PyTorch, or as safetensors",
                    file));
  if (begins(bytes, {0x80}))
    throw Error(
        fmt::format("{}: a bare pickle, which may run any code when it is loaded; save the tensors with "
                    "torch.save or as safetensors",
                    file));
  throw Error(fmt::format("{}: not a file of weights; allowed: safetensors, or what PyTorch 1.6 or later saves", file));
}

}  // namespace

Weights Weights::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> memory, const std::string& file) {
  if (is_zip(bytes)) return read_pth(bytes, file);
  // A header's length of at most 100 MB leaves the upper four of eight bytes zero; so may a pickle's first ones.
  const bool pickle = begins(bytes, {0x80}) && bytes.size() > 1 && std::to_integer<int>(bytes[1]) <= kLastProtocol;
  if (begins(bytes, {'{'}, 8) || (begins(bytes, {0, 0, 0, 0}, 4) && !pickle))
    return read_safetensors(bytes, std::move(memory), file);
  refuse_unknown(bytes, file);
}

Weights Weights::load(const std::string& path) {
  auto [bytes, memory] = map_file(path);
  return parse(bytes, std::move(memory), path);
}

}  // namespace oriel::nn
