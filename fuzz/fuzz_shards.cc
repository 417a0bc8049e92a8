// Any bytes as a shard of a precomputed volume, whose first byte says how it is encoded. Chunks that are read must be
// no longer than allowed, and the same again; anything else is an oriel::Error of one line.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "io/precomputed/sharding.h"

namespace {

using namespace oriel;
using namespace oriel::io::precomputed;

void check(bool good) {
  if (!good) __builtin_trap();
}

// A folder of one shard, which is the file of a descriptor.
class Folder {
 public:
  Folder() { check(::mkdtemp(path_.data()) != nullptr); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  const std::string& with(int descriptor) {
    if (descriptor != linked_) {
      std::filesystem::remove(path_ + "/0.shard");
      std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(descriptor), path_ + "/0.shard");
      linked_ = descriptor;
    }
    return path_;
  }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "oriel_fuzz_XXXXXX").string();
  int linked_ = -1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const int descriptor = ::memfd_create("shard", 0);
  check(descriptor >= 0 && ::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::shared_ptr<void> guard(nullptr, [descriptor](void*) { ::close(descriptor); });
  const Sharding sharding{.preshift_bits = *data >> 5 & 1,
                          .minishard_bits = *data >> 3 & 3,
                          .murmur = (*data >> 2 & 1) != 0,
                          .gzip_index = (*data >> 1 & 1) != 0,
                          .gzip_data = (*data & 1) != 0};
  constexpr index_t chunks = 16;
  constexpr std::size_t most = 4096;
  static Folder folder;
  ShardReader reader(folder.with(descriptor), sharding, chunks);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    std::string file;
    try {
      const auto read = reader.read(chunk, most, file);
      check(!read || read->size() <= most);
      check(reader.kept() <= 64 * chunks);
      check(reader.read(chunk, most, file) == read);
    } catch (const Error& e) {
      check(std::strchr(e.what(), '\n') == nullptr);
    }
  }
  return 0;
}
