#include "cli/sheet_plane.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

namespace oriel::cli {
namespace {

constexpr index_t kMostExtent = 1024;  // of a box along each axis of the plane

// Neighbouring pixels whose elements are in one box.
struct PixelRun {
  std::size_t begin, end;  // pixels
  index_t first, count;    // elements
};

std::vector<PixelRun> runs_of(std::span<const index_t> indices, index_t chunk) {
  std::vector<PixelRun> runs;
  for (std::size_t p = 0; p < indices.size();) {
    if (indices[p] < 0) {
      ++p;
      continue;
    }
    const index_t box = indices[p] / chunk;
    std::size_t end = p;
    while (end < indices.size() && indices[end] >= 0 && indices[end] / chunk == box) ++end;
    const auto [low, high] = std::minmax(indices[p], indices[end - 1]);
    runs.push_back({p, end, low, high - low + 1});
    p = end;
  }
  return runs;
}

index_t box_along(const io::VolumeIn& in, int axis) {
  return in.chunk.empty() ? kMostExtent : std::clamp(in.chunk[axis], index_t{1}, kMostExtent);
}

template <class T>
std::uint64_t number_of(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    const auto wide = static_cast<double>(value);
    constexpr double most = 9e15;
    if (wide >= -most && wide <= most) return static_cast<std::uint64_t>(static_cast<std::int64_t>(wide));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &wide, sizeof bits);
    return bits;
  }
}

}  // namespace

double bytes_to_read(const io::VolumeIn& in, const PlaneIndices& at) {
  const std::size_t boxes =
      runs_of(at.rows, box_along(in, at.down)).size() * runs_of(at.columns, box_along(in, at.right)).size();
  double bytes = static_cast<double>(boxes) * static_cast<double>(size_bytes(in.dtype));
  for (const index_t n : in.chunk) bytes *= static_cast<double>(n);
  return bytes;
}

PlaneSamples read_plane(io::VolumeIn& in, const PlaneIndices& at, bool labels) {
  const std::size_t width = at.columns.size(), all = at.rows.size() * width;
  PlaneSamples samples;
  samples.there.resize(all);
  if (labels)
    samples.numbers.resize(all);
  else
    samples.values.resize(all);
  std::vector<std::byte> bytes;
  const std::vector<PixelRun> across = runs_of(at.columns, box_along(in, at.right));
  for (const PixelRun& rows : runs_of(at.rows, box_along(in, at.down))) {
    for (const PixelRun& columns : across) {
      Extents begin = at.begin, shape = Extents::filled(begin.size(), 1);
      begin[at.down] = rows.first;
      shape[at.down] = rows.count;
      begin[at.right] = columns.first;
      shape[at.right] = columns.count;
      bytes.resize(static_cast<std::size_t>(element_count(shape) * size_bytes(in.dtype)));
      in.read(begin, Tensor(bytes.data(), in.dtype, shape));
      visit(in.dtype, [&]<class T>() {
        for (std::size_t r = rows.begin; r < rows.end; ++r) {
          for (std::size_t c = columns.begin; c < columns.end; ++c) {
            const index_t place = (at.rows[r] - rows.first) * columns.count + at.columns[c] - columns.first;
            T value;
            std::memcpy(&value, bytes.data() + static_cast<std::size_t>(place) * sizeof value, sizeof value);
            samples.there[r * width + c] = true;
            if (labels)
              samples.numbers[r * width + c] = number_of(value);
            else
              samples.values[r * width + c] = static_cast<double>(value);
          }
        }
      });
    }
  }
  return samples;
}

}  // namespace oriel::cli
