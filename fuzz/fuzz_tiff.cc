// Any bytes as a TIFF, with all of its images or one, and as OME-XML: what opens is read whole and in a box, with the
// same values; anything else is an oriel::Error of one line.
#include <cstring>
#include <string>
#include <vector>

#include "io/memory_bound.h"
#include "io/tiff/geo.h"
#include "io/tiff/volume_in.h"

namespace {

using namespace oriel;
using namespace oriel::io::tiff;

constexpr index_t kMost = index_t{1} << 22;

template <class F>
void attempt(F read) {
  try {
    read();
  } catch (const Error& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();
  }
}

void use(TiffIn& in) {
  scaled(read_geo(in.first_page()), {.step = 2, .shift = 1}, {.step = 3, .shift = -1});
  const Extents& shape = in.shape;
  if (shape.size() < 2 || in.order.size() != shape.size()) __builtin_trap();
  if (!in.chunk.empty() && in.chunk.size() != shape.size()) __builtin_trap();
  index_t bytes = size_bytes(in.dtype);
  for (const index_t n : shape)
    if (n < 1 || __builtin_mul_overflow(bytes, n, &bytes) || bytes > kMost) return;
  std::vector<std::byte> all(static_cast<std::size_t>(bytes));
  in.read(Extents::filled(shape.size(), 0), Tensor(all.data(), in.dtype, shape));
  // The last element alone.
  Extents last = shape;
  for (index_t& n : last) --n;
  std::vector<std::byte> one(static_cast<std::size_t>(size_bytes(in.dtype)));
  in.read(last, Tensor(one.data(), in.dtype, Extents::filled(shape.size(), 1)));
  if (std::memcmp(one.data(), all.data() + all.size() - one.size(), one.size()) != 0) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  io::set_memory_bound(kMost, "as this test says");
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const index_t page : {0, 1, 2}) {
    attempt([&] {
      TiffIn in(std::make_unique<File>(memory_source(bytes), "tiff"), page, std::nullopt);
      use(in);
    });
  }
  Layout page{.rows = 3, .columns = 2, .tile_rows = 3, .tile_columns = 2};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    const Axes axes = find_axes(text, page, 4, "description");
    if (!axes.in_one_page && axes.planes() > 4) __builtin_trap();
    for (const index_t p : axes.pages)
      if (p < 0 || p >= 4) __builtin_trap();
  });
  return 0;
}
