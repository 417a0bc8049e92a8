#include "io/memory_bound.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>

#include "oriel/window.h"

namespace oriel::io {
namespace {

constexpr index_t kNoLimit = std::numeric_limits<index_t>::max();

// The number that a file of the system holds; none where there is no such file, or it holds a word (`max`).
index_t number_in(const std::filesystem::path& file) {
  index_t value = 0;
  return std::ifstream(file) >> value && value > 0 ? value : kNoLimit;
}

// Version 2 gives each group a folder with its own limit, in those of the groups that it is in; version 1 one limit.
index_t group_memory() {
  const std::filesystem::path root = "/sys/fs/cgroup";
  index_t least = std::min(number_in(root / "memory.max"), number_in(root / "memory/memory.limit_in_bytes"));
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::filesystem::path group = line.substr(4); !group.empty(); group = group.parent_path())
      least = std::min(least, number_in(root / group / "memory.max"));
  }
  return least;
}

struct Bound {
  std::mutex mutex;
  index_t bytes = 0;  // 0: not set yet
  std::string reason = "three quarters of this machine's memory";
};
Bound& bound() {
  static Bound it;
  return it;
}

index_t bytes_of(Bound& b) {
  if (b.bytes == 0) b.bytes = machine_memory() / 4 * 3;
  return b.bytes;
}

std::string mebibytes(index_t bytes) { return fmt::format("{} MiB", ceil_div(bytes, index_t{1} << 20)); }

}  // namespace

index_t machine_memory() {
  const index_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  index_t least = pages > 0 && page > 0 ? pages * page : kNoLimit;
  rlimit own{};
  if (::getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur < static_cast<rlim_t>(kNoLimit))
    least = std::min(least, static_cast<index_t>(own.rlim_cur));
  return std::min(least, group_memory());
}

void set_memory_bound(index_t bytes, std::string reason) {
  Bound& b = bound();
  const std::lock_guard lock(b.mutex);
  b.bytes = std::max<index_t>(bytes, 1);
  b.reason = std::move(reason);
}

index_t memory_bound() {
  Bound& b = bound();
  const std::lock_guard lock(b.mutex);
  return bytes_of(b);
}

void check_memory(const std::string& file, const std::string& what, index_t bytes) {
  Bound& b = bound();
  const std::lock_guard lock(b.mutex);
  const index_t most = bytes_of(b);
  if (bytes <= most) return;
  throw Error(fmt::format("{}: {} takes {} of memory; allowed: at most {}, {}", file, what, mebibytes(bytes),
                          fmt::format("{} MiB", most >> 20), b.reason));
}

}  // namespace oriel::io
