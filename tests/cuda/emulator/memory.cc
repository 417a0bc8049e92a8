#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "grid.h"

namespace grid {
namespace {

constexpr std::size_t kSector = 32;
constexpr std::size_t kPoisoned = std::size_t{64} << 20;  // larger memory stays zero pages until it is touched

// One allocation. `state` has a byte for each: 0 unwritten, 1 written by the host, else the launch that wrote it.
struct Buffer {
  std::string name;
  unsigned char* data = nullptr;
  unsigned char* state = nullptr;
  std::size_t bytes = 0;
  bool read_only = false;
  int device = 0;
  bool seen = false;                                                       // has sectors that were counted
  std::map<std::size_t, std::vector<bool>> read_sectors, written_sectors;  // by pages of sectors
};

constexpr std::size_t kSectorPage = 4096;

struct Access {
  unsigned warp, ordinal;
  bool write;
  Buffer* buffer;
  std::size_t sector;
  auto key() const { return std::tie(warp, ordinal, write, buffer, sector); }
};

struct Memory {
  std::map<const unsigned char*, Buffer> buffers;
  Buffer* last = nullptr;
  unsigned char launch = 1;
  Accessor* accessor = nullptr;
  std::vector<Access> accesses;
};
Memory& memory() {
  static Memory m;
  return m;
}

unsigned char* map_pages(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<unsigned char*>(p);
}

Buffer* find(const void* p) {
  Memory& m = memory();
  const unsigned char* at = static_cast<const unsigned char*>(p);
  if (m.last != nullptr && at >= m.last->data && at < m.last->data + m.last->bytes) return m.last;
  auto it = m.buffers.upper_bound(at);
  if (it == m.buffers.begin()) return nullptr;
  Buffer& b = std::prev(it)->second;
  if (at >= b.data + b.bytes) return nullptr;
  m.last = &b;
  return &b;
}

std::string place(const Buffer& b, const void* p) {
  return "'" + b.name + "' + " + std::to_string(static_cast<const unsigned char*>(p) - b.data);
}

// The buffer of an access that is allowed, or null after a failure.
Buffer* check(const void* at, std::size_t bytes, const char* verb) {
  const auto what = [&] { return std::string(verb) + " of " + std::to_string(bytes) + " bytes"; };
  if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0) {
    Buffer* b = find(at);
    fail("misaligned " + what() + " at " + (b == nullptr ? std::string("no buffer") : place(*b, at)));
    return nullptr;
  }
  Buffer* b = find(at);
  if (b == nullptr) {
    // The nearest buffer below says whose end was passed.
    auto it = memory().buffers.upper_bound(static_cast<const unsigned char*>(at));
    const std::string near =
        it == memory().buffers.begin() ? std::string("no buffer") : place(std::prev(it)->second, at);
    fail("out of bounds: " + what() + " at " + near);
    return nullptr;
  }
  if (static_cast<const unsigned char*>(at) + bytes > b->data + b->bytes) {
    fail("out of bounds: " + what() + " at " + place(*b, at) + " of " + std::to_string(b->bytes));
    return nullptr;
  }
  return b;
}

bool first_time(std::map<std::size_t, std::vector<bool>>& pages, std::size_t sector) {
  std::vector<bool>& page = pages[sector / kSectorPage];
  if (page.empty()) page.resize(kSectorPage);
  if (page[sector % kSectorPage]) return false;
  page[sector % kSectorPage] = true;
  return true;
}

int log2_of(std::size_t bytes) {
  int n = 0;
  while ((std::size_t{1} << n) < bytes) ++n;
  return std::min(n, 4);
}

void count(Buffer& b, const void* at, std::size_t bytes, bool write) {
  Report& r = report();
  (write ? r.writes_by_width : r.reads_by_width)[log2_of(bytes)]++;
  b.seen = true;
  const std::size_t sector = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - b.data) / kSector;
  if (first_time(write ? b.written_sectors : b.read_sectors, sector)) {
    ++(write ? r.distinct_write_sectors : r.distinct_read_sectors);
  }
  Accessor& a = *memory().accessor;
  memory().accesses.push_back({a.warp, a.ordinal++, write, &b, sector});
}

}  // namespace

void begin_launch() {
  Memory& m = memory();
  m.launch = m.launch == 255 ? 2 : static_cast<unsigned char>(m.launch + 1);
}

void set_accessor(Accessor* accessor) { memory().accessor = accessor; }

void end_block() {
  std::vector<Access>& all = memory().accesses;
  std::sort(all.begin(), all.end(), [](const Access& a, const Access& b) { return a.key() < b.key(); });
  const auto end =
      std::unique(all.begin(), all.end(), [](const Access& a, const Access& b) { return a.key() == b.key(); });
  for (auto it = all.begin(); it != end; ++it) ++(it->write ? report().write_sectors : report().read_sectors);
  all.clear();
}

void read(const void* at, void* value, std::size_t bytes) {
  std::memset(value, 0, bytes);
  Buffer* b = check(at, bytes, "read");
  if (b == nullptr) return;
  const std::size_t offset = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - b->data);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (b->state[offset + i] == 0) {
      fail("unwritten: read of " + std::to_string(bytes) + " bytes at " + place(*b, at));
      break;
    }
  }
  std::memcpy(value, at, bytes);
  if (options().count) count(*b, at, bytes, false);
}

void write(void* at, const void* value, std::size_t bytes) {
  Buffer* b = check(at, bytes, "write");
  if (b == nullptr) return;
  if (b->read_only) return fail("write of " + std::to_string(bytes) + " bytes to the input at " + place(*b, at));
  const std::size_t offset = static_cast<std::size_t>(static_cast<const unsigned char*>(at) - b->data);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (b->state[offset + i] == memory().launch) ++report().rewritten;
    b->state[offset + i] = memory().launch;
  }
  std::memcpy(at, value, bytes);
  if (options().count) count(*b, at, bytes, true);
}

void* begin_atomic(void* at, std::size_t bytes) {
  Buffer* b = check(at, bytes, "atomic");
  if (b == nullptr) return nullptr;
  const std::size_t offset = static_cast<std::size_t>(static_cast<unsigned char*>(at) - b->data);
  if (b->state[offset] == 0) fail("unwritten: atomic of " + std::to_string(bytes) + " bytes at " + place(*b, at));
  ++report().atomics;
  return at;
}

void* allocate(std::size_t bytes, const char* name) {
  if (bytes == 0) return nullptr;
  Buffer b;
  b.name = name;
  b.data = map_pages(bytes);
  b.state = map_pages(bytes);
  b.bytes = bytes;
  if (b.data == nullptr || b.state == nullptr) return nullptr;
  if (bytes <= kPoisoned) std::memset(b.data, options().poison, bytes);
  void* p = b.data;
  memory().buffers.emplace(b.data, std::move(b));
  return p;
}

bool release(void* p) {
  const auto it = memory().buffers.find(static_cast<unsigned char*>(p));
  if (it == memory().buffers.end()) return false;
  munmap(it->second.data, it->second.bytes);
  munmap(it->second.state, it->second.bytes);
  memory().last = nullptr;
  memory().buffers.erase(it);
  return true;
}

void mark_written(const void* p, std::size_t bytes) {
  Buffer* b = bytes == 0 ? nullptr : find(p);
  if (b != nullptr) std::memset(b->state + (static_cast<const unsigned char*>(p) - b->data), 1, bytes);
}

void mark_unwritten(const void* p, std::size_t bytes) {
  Buffer* b = bytes == 0 ? nullptr : find(p);
  if (b != nullptr) std::memset(b->state + (static_cast<const unsigned char*>(p) - b->data), 0, bytes);
}

void protect(const void* p) {
  if (Buffer* b = find(p)) b->read_only = true;
}

bool all_written(const void* p, std::size_t bytes) {
  const Buffer* b = find(p);
  if (b == nullptr) return bytes == 0;
  const unsigned char* state = b->state + (static_cast<const unsigned char*>(p) - b->data);
  return std::find(state, state + bytes, 0) == state + bytes;
}

void move_to_device(const void* p, int device) {
  if (Buffer* b = find(p)) b->device = device;
}

// The sectors that were counted are forgotten with the report.
void forget_sectors() {
  for (auto& [at, b] : memory().buffers) {
    if (!b.seen) continue;
    b.read_sectors.clear();
    b.written_sectors.clear();
    b.seen = false;
  }
}

}  // namespace grid

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  if (const cudaError_t e = grid::asked_failure("cudaPointerGetAttributes"); e != cudaSuccess) return e;
  const grid::Buffer* b = grid::find(p);
  attributes->type = b == nullptr ? cudaMemoryTypeUnregistered : cudaMemoryTypeDevice;
  attributes->device = b == nullptr ? -1 : b->device;
  attributes->devicePointer = attributes->hostPointer = const_cast<void*>(p);
  return cudaSuccess;
}
