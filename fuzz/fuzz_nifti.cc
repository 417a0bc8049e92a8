// Any bytes as the header of a NIfTI file, as its extensions, as the header of an input that is pooled, and as a gzip
// stream that is read at places. What is read must be consistent and be written and read again as it was; anything else
// is an oriel::Error of one line.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "byte_order.h"
#include "io/nifti/geometry.h"
#include "io/nifti/gzip_in.h"

namespace {

using namespace oriel;
using namespace oriel::io::nifti;

void check(bool good) {
  if (!good) __builtin_trap();
}

void use(const Header& h) {
  check(h.version == 1 || h.version == 2);
  check(h.shape.size() >= 1 && h.shape.size() <= kMostAxes && h.data >= 0);
  index_t bytes = size_bytes(h.dtype);
  for (const index_t n : h.shape) check(n >= 1 && !__builtin_mul_overflow(bytes, n, &bytes));
  check(!__builtin_add_overflow(bytes, h.data, &bytes));
  check(h.slope != 0 && std::isfinite(h.slope) && std::isfinite(h.inter));
  for (const char* const problem : {"avg:u8:4x5x7:k2", "first:f32:4x5x7x3:k3x2:s2x1:p1:axes0,3", "?"}) {
    const Header of_result = pooled(h, problem);
    check(of_result.shape == h.shape);
  }
  if (h.pair) return;
  const Header again = parse_header(to_bytes(h), "again");
  check(again.shape == h.shape && again.dtype == h.dtype && again.version == h.version && again.data == h.data);
  check(again.slope == h.slope && again.inter == h.inter && again.descrip == h.descrip);
  check(again.qform_code == h.qform_code && again.sform_code == h.sform_code);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t i = 0; i < 4; ++i) check(std::isnan(h.srow[r][i]) || again.srow[r][i] == h.srow[r][i]);
}

// Parts of a stream are the same, whatever was read before.
void use_gzip(std::span<const std::byte> bytes) {
  const int descriptor = ::memfd_create("gz", 0);
  check(descriptor >= 0 && ::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::shared_ptr<void> guard(nullptr, [descriptor](void*) { ::close(descriptor); });
  constexpr index_t most = index_t{1} << 16, part = 100;
  GzipIn in("/proc/self/fd/" + std::to_string(descriptor));
  std::vector<std::byte> all(most), again(part);
  const index_t count = in.read(all.data(), most, 0);
  check(count <= in.most_bytes());
  for (const index_t at : {count / 2, index_t{0}, std::max<index_t>(count - part, 0)}) {
    const index_t some = std::min(count - at, part);
    check(in.read(again.data(), some, at) == some);
    check(std::memcmp(again.data(), all.data() + at, static_cast<std::size_t>(some)) == 0);
  }
  in.check_end(count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    use(parse_header(bytes, "nifti"));
  } catch (const Error& e) {
    check(std::strchr(e.what(), '\n') == nullptr);
  }
  try {
    use_gzip(bytes);
  } catch (const Error& e) {
    check(std::strchr(e.what(), '\n') == nullptr);
  }
  for (const bool swapped : {false, true}) {
    std::size_t all = 0;
    const std::vector<Extension> extensions = parse_extensions(bytes, swapped);
    for (const Extension& e : extensions) all += e.content.size() + 8;
    check(all <= size);
    const std::vector<Extension> again = parse_extensions(to_bytes(extensions), detail::kBigEndian);
    check(again.size() == extensions.size());
    for (std::size_t i = 0; i < again.size(); ++i)
      check(again[i].code == extensions[i].code && again[i].content == extensions[i].content);
  }
  return 0;
}
