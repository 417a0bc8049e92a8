#include "io/chunk_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>

#include "io/chunk_cache.h"
#include "io/zarr/store.h"

namespace oriel::io {
namespace {

namespace fs = std::filesystem;
using zarr::Bytes;

// Chunks that were written in parts, as they are in memory.
constexpr const char* kParts = "/.parts";

// A place as the name of a file: `p0.3.1`.
std::string part_name(const Extents& place) {
  return fmt::format("p{}", fmt::join(std::span(place.begin(), place.end()), "."));
}
Extents part_place(const std::string& name) {
  Extents place;
  for (std::size_t at = 1; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    index_t number = 0;
    std::from_chars(name.data() + at, name.data() + end, number);
    place.push_back(number);
    at = end + 1;
  }
  return place;
}

}  // namespace

ChunkWriter::ChunkWriter(std::string folder, std::string name, Grid grid, Store store)
    : folder_(std::move(folder)), name_(std::move(name)), grid_(grid), store_(std::move(store)) {}

void ChunkWriter::create(const std::string& folder, const std::string& name) {
  std::error_code error;
  fs::create_directory(folder + kParts, error);
  if (error) throw Error(fmt::format("{}: cannot write: {}", name, error.message()));
}

Extents ChunkWriter::extents(const Extents& place) const {
  Extents extents = grid_.chunk;
  for (int d = 0; grid_.clipped && d < place.size(); ++d)
    extents[d] = std::min(grid_.chunk[d], grid_.shape[d] - place[d] * grid_.chunk[d]);
  return extents;
}

void ChunkWriter::write(const Extents& begin, const ConstTensor& from) const {
  for_each_chunk(grid_.chunk, begin, from.shape, [&](const Extents& place) {
    Extents first;
    for (int d = 0; d < place.size(); ++d) first.push_back(place[d] * grid_.chunk[d]);
    const zarr::Overlap o = zarr::overlap(first, grid_.chunk, begin, from.shape);
    ConstTensor part = from;
    part.data = static_cast<const std::byte*>(from.data) + zarr::offset(o.in_box, from.pitch) * size_bytes(from.dtype);
    part.shape = o.shape;
    if (o.shape == there(place))
      write_whole(place, part);
    else
      write_part(place, o.in_chunk, part);
  });
}

void ChunkWriter::complete() const {
  const fs::path parts = folder_ + kParts;
  std::error_code none;
  if (!fs::exists(parts, none)) return;
  for (const auto& entry : fs::directory_iterator(parts)) {
    const Extents place = part_place(entry.path().filename().string());
    const index_t size = element_count(extents(place)) * size_bytes(grid_.dtype);
    std::optional<Bytes> bytes = zarr::read_file(entry.path().string(), static_cast<std::size_t>(size));
    if (bytes) store_(place, padded(place, std::move(*bytes)));
    fs::remove(entry.path());
  }
  fs::remove_all(parts);
}

// Memory for a chunk; where the tensor ends before it, what follows has a value: the fill value, or zero.
Bytes ChunkWriter::blank(const Extents& place) const {
  const auto element = static_cast<std::size_t>(size_bytes(grid_.dtype));
  Bytes bytes(static_cast<std::size_t>(element_count(extents(place))) * element);
  if (!has_rest(place)) return bytes;
  if (grid_.fill.size() != element) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    return bytes;
  }
  for (std::size_t at = 0; at < bytes.size(); at += element) std::memcpy(bytes.data() + at, grid_.fill.data(), element);
  return bytes;
}

Extents ChunkWriter::there(const Extents& place) const {
  Extents there;
  for (int d = 0; d < place.size(); ++d)
    there.push_back(std::min(grid_.chunk[d], grid_.shape[d] - place[d] * grid_.chunk[d]));
  return there;
}

bool ChunkWriter::has_rest(const Extents& place) const { return !(there(place) == extents(place)); }

// What came in parts has zeros there.
Bytes ChunkWriter::padded(const Extents& place, Bytes bytes) const {
  const bool zeros = std::all_of(grid_.fill.begin(), grid_.fill.end(), [](std::byte b) { return b == std::byte{0}; });
  if (zeros || !has_rest(place)) return bytes;
  Bytes whole = blank(place);
  const Extents pitch = dense_pitch(extents(place), grid_.order), inside = there(place);
  zarr::copy_box(ConstTensor(bytes.data(), grid_.dtype, inside, pitch),
                 Tensor(whole.data(), grid_.dtype, inside, pitch));
  return whole;
}

void ChunkWriter::write_whole(const Extents& place, const ConstTensor& part) const {
  const Extents chunk = extents(place);
  Bytes bytes = blank(place);
  zarr::copy_box(part, Tensor(bytes.data(), part.dtype, part.shape, dense_pitch(chunk, grid_.order)));
  store_(place, std::move(bytes));
}

void ChunkWriter::fail() const { throw Error(fmt::format("{}: cannot write: {}", name_, std::strerror(errno))); }

void ChunkWriter::put(int descriptor, const std::byte* from, index_t count, index_t at) const {
  for (index_t done = 0; done < count;) {
    const ssize_t put =
        ::pwrite(descriptor, from + done, static_cast<std::size_t>(count - done), static_cast<off_t>(at + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail();
    done += put;
  }
}

void ChunkWriter::write_part(const Extents& place, const Extents& in_chunk, const ConstTensor& part) const {
  const std::string file = folder_ + kParts + "/" + part_name(place);
  constexpr mode_t mode = 0666;
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode);
  if (descriptor < 0) fail();
  const std::shared_ptr<void> guard(nullptr, [descriptor](void*) { ::close(descriptor); });
  const Extents chunk = extents(place);
  const index_t size = size_bytes(part.dtype);
  if (::ftruncate(descriptor, element_count(chunk) * size) != 0) fail();
  // Its box as one piece of memory.
  Bytes dense(static_cast<std::size_t>(element_count(part.shape) * size));
  zarr::copy_box(part, Tensor(dense.data(), part.dtype, part.shape, dense_pitch(part.shape, grid_.order)));
  for_each_run(chunk, grid_.order, in_chunk, part.shape, [&](index_t at, index_t in_box, index_t count) {
    put(descriptor, dense.data() + in_box * size, count * size, at * size);
  });
}

}  // namespace oriel::io
