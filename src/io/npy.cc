#include "io/npy.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "io/input_file.h"
#include "io/memory_bound.h"

namespace oriel::io {
namespace {

std::span<const std::byte> as_bytes(const void* data, index_t count) {
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(count)};
}

// Pitches of a dense array in the order that the header says.
Extents file_pitch(const NpyHeader& header) {
  Extents order;
  const int rank = header.shape.size();
  for (int i = 0; i < rank; ++i) order.push_back(header.fortran ? rank - 1 - i : i);
  return dense_pitch(header.shape, order);
}

// A copy in aligned memory, each element's bytes turned around where the file's order is the other one.
std::shared_ptr<void> aligned_copy(std::span<const std::byte> data, const NpyHeader& header) {
  const auto size = static_cast<std::size_t>(size_bytes(header.dtype));
  Buffer copy = allocate(Dtype::u8, {static_cast<index_t>(data.size())});
  auto* const to = static_cast<std::byte*>(copy.view.data);
  if (!header.swapped) {
    std::copy(data.begin(), data.end(), to);
    return copy.memory;
  }
  for (std::size_t i = 0; i < data.size(); i += size)
    std::reverse_copy(data.begin() + static_cast<std::ptrdiff_t>(i),
                      data.begin() + static_cast<std::ptrdiff_t>(i + size), to + i);
  return copy.memory;
}

void check_data_bytes(std::size_t got, index_t needed, const NpyHeader& header, const std::string& file) {
  if (got == static_cast<std::size_t>(needed)) return;
  const char* const what =
      got < static_cast<std::size_t>(needed) ? "the .npy file is cut off" : "the .npy file is too long";
  throw Error(fmt::format("{}: {}: shape {} of {} needs {} bytes of data, but there are {}", file, what,
                          to_string(header.shape), name(header.dtype), needed,
                          got > static_cast<std::size_t>(needed) ? "more" : std::to_string(got)));
}

std::string_view dict_text(std::span<const std::byte> bytes, std::size_t header_bytes) {
  const std::size_t begin = std::to_integer<int>(bytes[6]) == 1 ? 10 : 12;
  return {reinterpret_cast<const char*>(bytes.data()) + begin, header_bytes - begin};
}

// Memory that grows without a copy of what it holds.
class GrowingMemory {
 public:
  GrowingMemory(const std::string& file, index_t bytes) : file_(file), bytes_(std::max<std::size_t>(size(bytes), 1)) {
    data_ = check(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;
  ~GrowingMemory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }

  std::byte* data() { return static_cast<std::byte*>(data_); }
  void grow(index_t bytes) {
    data_ = check(::mremap(data_, bytes_, size(bytes), MREMAP_MAYMOVE));
    bytes_ = size(bytes);
  }
  std::shared_ptr<const void> release() {
    return {std::exchange(data_, nullptr), [bytes = bytes_](const void* p) { ::munmap(const_cast<void*>(p), bytes); }};
  }

 private:
  static std::size_t size(index_t bytes) { return static_cast<std::size_t>(bytes); }
  void* check(void* data) const {
    if (data == MAP_FAILED) throw Error(fmt::format("{}: out of memory", file_));
    return data;
  }

  const std::string& file_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

index_t data_bytes(const NpyHeader& header) { return element_count(header.shape) * size_bytes(header.dtype); }

}  // namespace

Array read_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> memory, const std::string& file,
               std::optional<Dtype> dtype) {
  const std::size_t begin = npy_header_bytes(bytes.first(std::min(bytes.size(), kNpyPrefix)), file);
  if (bytes.size() < begin)
    throw Error(fmt::format("{}: the .npy file is cut off: the header needs {} bytes, but there are {}", file, begin,
                            bytes.size()));
  const NpyHeader header = parse_npy_header(dict_text(bytes, begin), file, dtype);
  const std::span<const std::byte> data = bytes.subspan(begin);
  check_data_bytes(data.size(), data_bytes(header), header, file);
  const void* first = data.data();
  if (header.swapped ||
      reinterpret_cast<std::uintptr_t>(first) % static_cast<std::size_t>(size_bytes(header.dtype)) != 0) {
    memory = aligned_copy(data, header);
    first = memory.get();
  }
  return {ConstTensor(first, header.dtype, header.shape, file_pitch(header)), std::move(memory), std::nullopt};
}

Array read_npy(const std::string& path, std::optional<Dtype> dtype) {
  if (!is_regular(path)) return read_npy(open_stream(path), path, dtype);
  MappedFile file = map_file(path);
  return read_npy(file.bytes, std::move(file.memory), path, dtype);
}

Array read_npy(const ReadBytes& read, const std::string& file, std::optional<Dtype> dtype) {
  std::vector<std::byte> head(kNpyPrefix);
  head.resize(read_fully(read, head.data(), kNpyPrefix));
  const std::size_t begin = npy_header_bytes(head, file);
  head.resize(begin);
  const std::size_t got = kNpyPrefix + read_fully(read, head.data() + kNpyPrefix, begin - kNpyPrefix);
  if (got < begin)
    throw Error(
        fmt::format("{}: the .npy file is cut off: the header needs {} bytes, but there are {}", file, begin, got));
  const NpyHeader header = parse_npy_header(dict_text(head, begin), file, dtype);

  const index_t needed = data_bytes(header);
  check_memory(file, fmt::format("shape {} of {}", to_string(header.shape), name(header.dtype)),
               header.swapped && needed < std::numeric_limits<index_t>::max() / 2 ? 2 * needed : needed);
  constexpr index_t first_step = index_t{1} << 22;
  index_t done = 0, room = std::min(needed, first_step);
  GrowingMemory memory(file, room);
  for (;;) {
    done += static_cast<index_t>(read_fully(read, memory.data() + done, static_cast<std::size_t>(room - done)));
    if (done < room) check_data_bytes(static_cast<std::size_t>(done), needed, header, file);
    if (done == needed) break;
    room =
        std::min(needed, room > needed / 2 ? needed : room * 2);  // doubling: a false size costs no more than the data
    memory.grow(room);
  }
  std::byte extra{};
  check_data_bytes(static_cast<std::size_t>(done) + read_fully(read, &extra, 1), needed, header, file);
  std::shared_ptr<const void> kept =
      header.swapped ? aligned_copy(as_bytes(memory.data(), done), header) : memory.release();
  return {ConstTensor(kept.get(), header.dtype, header.shape, file_pitch(header)), kept, std::nullopt};
}

void write_npy(const WriteBytes& write, const ConstTensor& t) {
  const std::string header = npy_header(t.dtype, t.shape);
  write(header.data(), header.size());
  const Array whole = dense(t);
  const index_t bytes = element_count(t.shape) * size_bytes(t.dtype);
  const auto* const from = static_cast<const std::byte*>(whole.view.data);
  constexpr index_t chunk = index_t{1} << 24;
  for (index_t i = 0; i < bytes; i += chunk) write(from + i, static_cast<std::size_t>(std::min(chunk, bytes - i)));
}

}  // namespace oriel::io
