#include "io/unfinished.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

namespace oriel::io {
namespace {

// Names that a signal handler can read: fixed memory, published by a flag.
struct Unfinished {
  std::atomic<int> state{0};  // 0 free, 1 being filled, 2 holds a name
  std::array<char, PATH_MAX> name{};
};
std::array<Unfinished, 8> unfinished;

int remember(const std::string& name) {
  if (name.empty() || name.size() >= PATH_MAX) return -1;
  for (int i = 0; i < static_cast<int>(unfinished.size()); ++i) {
    Unfinished& slot = unfinished[static_cast<std::size_t>(i)];
    int free = 0;
    if (!slot.state.compare_exchange_strong(free, 1)) continue;
    std::memcpy(slot.name.data(), name.c_str(), name.size() + 1);
    slot.state = 2;
    return i;
  }
  return -1;
}

// What the system's getdents64 gives of each entry of a folder.
struct Entry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t kind;
};
constexpr std::size_t kNameAt = offsetof(Entry, kind) + 1;

bool is_itself_or_parent(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

// By system calls alone: a signal handler must not use opendir, which allocates.
void remove_folder(int at, const char* name, int depth) noexcept {
  constexpr int deepest = 32;
  const int folder = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  alignas(Entry) std::array<char, 4096> some;
  for (long got; (got = ::syscall(SYS_getdents64, folder, some.data(), some.size())) > 0;) {
    for (long i = 0; i < got;) {
      Entry entry;
      std::memcpy(&entry, some.data() + i, sizeof entry);
      const char* const found = some.data() + i + kNameAt;
      i += entry.bytes;
      if (is_itself_or_parent(found) || ::unlinkat(folder, found, 0) == 0 || depth == deepest) continue;
      if (errno == EISDIR || errno == EPERM) remove_folder(folder, found, depth + 1);
    }
  }
  ::close(folder);
  (void)::unlinkat(at, name, AT_REMOVEDIR);
}

}  // namespace

void remove_unfinished_outputs() noexcept {
  for (Unfinished& slot : unfinished) {
    if (slot.state != 2) continue;
    if (::unlink(slot.name.data()) != 0 && (errno == EISDIR || errno == EPERM))
      remove_folder(AT_FDCWD, slot.name.data(), 0);
  }
}

WatchedFile::WatchedFile(const std::string& place) : slot_(remember(place)) {}

WatchedFile::~WatchedFile() {
  if (slot_ >= 0) unfinished[static_cast<std::size_t>(slot_)].state = 0;
}

}  // namespace oriel::io
