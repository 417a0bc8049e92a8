#include "io/nifti/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "byte_order.h"
#include "quoted.h"

namespace oriel::io::nifti {
namespace {

constexpr std::string_view kMagicOne = "n+1", kMagicPair = "ni1";
constexpr std::string_view kMagic2One("n+2\0\r\n\x1a\n", 8), kMagic2Pair("ni2\0\r\n\x1a\n", 8);
constexpr std::size_t kMagic1At = 344, kMagic2At = 4, kMagic1Size = 4;

struct Code {
  index_t code;
  Dtype dtype;
};
constexpr std::array kCodes{Code{2, Dtype::u8},     Code{4, Dtype::i16},   Code{8, Dtype::i32},   Code{16, Dtype::f32},
                            Code{64, Dtype::f64},   Code{256, Dtype::i8},  Code{512, Dtype::u16}, Code{768, Dtype::u32},
                            Code{1024, Dtype::i64}, Code{1280, Dtype::u64}};

// The fields of a header that is read.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, int version, bool swapped)
      : bytes_(bytes), version_(version), swapped_(swapped) {}

  template <class T>
  T get(std::size_t at) const {
    std::array<std::byte, sizeof(T)> raw{};
    std::memcpy(raw.data(), bytes_.data() + at, sizeof(T));
    if (swapped_) detail::reverse_bytes(raw.data(), 1, sizeof(T));
    T value{};
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  template <class One, class Two>
  void integer(std::size_t one, std::size_t two, index_t& value) const {
    value = version_ == 1 ? static_cast<index_t>(get<One>(one)) : static_cast<index_t>(get<Two>(two));
  }
  void real(std::size_t one, std::size_t two, double& value, std::size_t place = 0) const {
    value = version_ == 1 ? static_cast<double>(get<float>(one + place * sizeof(float)))
                          : get<double>(two + place * sizeof(double));
  }
  void text(std::size_t one, std::size_t two, std::size_t size, std::string& value) const {
    const auto* const begin = reinterpret_cast<const char*>(bytes_.data()) + (version_ == 1 ? one : two);
    value.assign(begin, ::strnlen(begin, size));
  }

 private:
  std::span<const std::byte> bytes_;
  int version_;
  bool swapped_;
};

// The fields of a header that is written.
class Writer {
 public:
  Writer(std::span<std::byte> bytes, int version) : bytes_(bytes), version_(version) {}

  template <class T>
  void put(std::size_t at, T value) {
    const T stored = detail::little_endian(value);
    std::memcpy(bytes_.data() + at, &stored, sizeof stored);
  }

  template <class One, class Two>
  void integer(std::size_t one, std::size_t two, index_t value) {
    if (version_ == 1)
      put(one, static_cast<One>(value));
    else
      put(two, static_cast<Two>(value));
  }
  void real(std::size_t one, std::size_t two, double value, std::size_t place = 0) {
    if (version_ == 1)
      put(one + place * sizeof(float), static_cast<float>(value));
    else
      put(two + place * sizeof(double), value);
  }
  void text(std::size_t one, std::size_t two, std::size_t size, const std::string& value) {
    std::memcpy(bytes_.data() + (version_ == 1 ? one : two), value.data(), std::min(size, value.size()));
  }

 private:
  std::span<std::byte> bytes_;
  int version_;
};

// The fields that need no check, in both directions: where each is in version 1 and in version 2.
template <class Fields, class H>
void visit(Fields& f, H& h) {
  using I8 = std::int8_t;
  using U8 = std::uint8_t;
  using I16 = std::int16_t;
  using I32 = std::int32_t;
  using I64 = std::int64_t;
  for (std::size_t i = 0; i < h.pixdim.size(); ++i) f.real(76, 104, h.pixdim[i], i);
  f.template integer<U8, I32>(123, 500, h.xyzt_units);
  f.real(136, 216, h.toffset);
  f.template integer<I16, I32>(252, 344, h.qform_code);
  f.template integer<I16, I32>(254, 348, h.sform_code);
  for (std::size_t i = 0; i < 3; ++i) {
    f.real(56, 80, h.intent_p[i], i);
    f.real(256, 352, h.quatern[i], i);
    f.real(268, 376, h.qoffset[i], i);
    for (std::size_t j = 0; j < 4; ++j) f.real(280, 400, h.srow[i][j], 4 * i + j);
  }
  f.template integer<U8, U8>(39, 524, h.dim_info);
  f.template integer<I16, I64>(74, 224, h.slice_start);
  f.template integer<I16, I64>(120, 232, h.slice_end);
  f.template integer<I8, I32>(122, 496, h.slice_code);
  f.real(132, 208, h.slice_duration);
  f.real(124, 192, h.cal_max);
  f.real(128, 200, h.cal_min);
  f.template integer<I16, I32>(68, 504, h.intent_code);
  f.text(328, 508, 16, h.intent_name);
  f.text(148, 240, 80, h.descrip);
  f.text(228, 320, 24, h.aux_file);
}

std::int32_t size_field(std::span<const std::byte> bytes, bool swapped) {
  return Reader(bytes, 1, swapped).get<std::int32_t>(0);
}

bool is_swapped(std::span<const std::byte> bytes) {
  const std::int32_t size = size_field(bytes, false);
  return size != static_cast<std::int32_t>(kHeader1) && size != static_cast<std::int32_t>(kHeader2);
}

Extents parse_shape(const Reader& r, int version, const std::string& file) {
  const auto dim = [&](std::size_t i) {
    index_t value = 0;
    r.integer<std::int16_t, std::int64_t>(40 + 2 * i, 16 + 8 * i, value);
    return value;
  };
  const index_t rank = dim(0);
  if (rank < 1 || rank > kMostAxes)
    throw Error(fmt::format("{}: the NIfTI-{} header has {} axes; allowed: 1 to {}", file, version, rank, kMostAxes));
  Extents shape;
  index_t count = 1;
  constexpr index_t most = index_t{1} << 58;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(rank); ++i) {
    shape.push_back(dim(i));
    if (dim(i) < 1 || __builtin_mul_overflow(count, dim(i), &count) || count > most)
      throw Error(fmt::format(
          "{}: the NIfTI-{} header has the size {} of axis {}; allowed: from 1 on, and 2^58 elements in all", file,
          version, dim(i), i - 1));
  }
  return shape;
}

Dtype parse_dtype(const Reader& r, const std::string& file) {
  index_t code = 0;
  r.integer<std::int16_t, std::int16_t>(70, 12, code);
  for (const Code& c : kCodes)
    if (c.code == code) return c.dtype;
  const char* const known = code == 1                      ? " (1 bit)"
                            : code == 128 || code == 2304  ? " (colours)"
                            : code == 32 || code == 1792   ? " (complex)"
                            : code == 1536 || code == 2048 ? " (128 bits)"
                                                           : "";
  throw Error(
      fmt::format("{}: the NIfTI file has data of type {}{}; allowed: integers of 8 to 64 bits, floats of 32 and "
                  "64 bits",
                  file, code, known));
}

// A slope of 0, or one that is no number, scales nothing.
void parse_scaling(const Reader& r, Header& h, const std::string& file) {
  double slope = 0, inter = 0;
  r.real(112, 176, slope);
  r.real(116, 184, inter);
  if (slope == 0 || !std::isfinite(slope)) return;
  if (!std::isfinite(inter))
    throw Error(fmt::format("{}: scl_slope is {}, but scl_inter is {}; allowed: a finite number", file, slope, inter));
  h.slope = slope;
  h.inter = inter;
}

void parse_place(const Reader& r, Header& h, const std::string& file) {
  double at = 0;
  if (h.version == 1) {
    at = static_cast<double>(r.get<float>(108));
    constexpr double most = 2147483648.0;
    if (!(at >= 0 && at <= most && std::trunc(at) == at)) at = -1;
    h.data = static_cast<index_t>(at);
  } else {
    h.data = r.get<std::int64_t>(168);
  }
  const auto least = static_cast<index_t>(h.pair ? 0 : h.bytes() + kExtender);
  constexpr index_t most = index_t{1} << 62;
  if (h.data < least || h.data > most)
    throw Error(fmt::format(
        "{}: the data begin at byte {} (vox_offset); allowed: a whole number, at least {}", file,
        h.version == 1 ? fmt::format("{}", static_cast<double>(r.get<float>(108))) : fmt::format("{}", h.data), least));
}

}  // namespace

int header_version(std::span<const std::byte> bytes) {
  const auto magic = [&](std::size_t at, std::size_t size) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + at, size);
  };
  if (bytes.size() < kMagic2At + kMagic2One.size()) return 0;
  const bool swapped = is_swapped(bytes);
  const std::int32_t size = size_field(bytes, swapped);
  if (size == static_cast<std::int32_t>(kHeader2)) {
    const std::string_view found = magic(kMagic2At, kMagic2One.size());
    return found == kMagic2One || found == kMagic2Pair ? 2 : 0;
  }
  if (size != static_cast<std::int32_t>(kHeader1) || bytes.size() < kHeader1) return 0;
  const std::string_view found = magic(kMagic1At, kMagic1Size - 1);
  return (found == kMagicOne || found == kMagicPair) && bytes[kMagic1At + kMagic1Size - 1] == std::byte{0} ? 1 : 0;
}

Header parse_header(std::span<const std::byte> bytes, const std::string& file) {
  Header h;
  h.version = header_version(bytes);
  if (h.version == 0) {
    const bool analyze = bytes.size() >= kHeader1 && (size_field(bytes, false) == static_cast<std::int32_t>(kHeader1) ||
                                                      size_field(bytes, true) == static_cast<std::int32_t>(kHeader1));
    if (bytes.size() < kHeader1)
      throw Error(fmt::format("{}: the NIfTI file is cut off: the header needs {} bytes, but there are {}", file,
                              kHeader1, bytes.size()));
    throw Error(fmt::format(
        "{}: {}; allowed: NIfTI-1 and NIfTI-2", file,
        analyze ? "an Analyze 7.5 header, which does not say where its voxels are" : "does not begin as a NIfTI file"));
  }
  if (bytes.size() < h.bytes())
    throw Error(fmt::format("{}: the NIfTI file is cut off: the header needs {} bytes, but there are {}", file,
                            h.bytes(), bytes.size()));
  h.swapped = is_swapped(bytes);
  h.pair = std::to_integer<char>(bytes[h.version == 1 ? kMagic1At + 1 : kMagic2At + 1]) == 'i';
  const Reader r(bytes, h.version, h.swapped);
  h.shape = parse_shape(r, h.version, file);
  h.dtype = parse_dtype(r, file);
  parse_scaling(r, h, file);
  parse_place(r, h, file);
  visit(r, h);
  return h;
}

std::vector<std::byte> to_bytes(const Header& h) {
  std::vector<std::byte> bytes(h.bytes());
  Writer w(bytes, h.version);
  w.put(0, static_cast<std::int32_t>(h.bytes()));
  const std::string_view magic = h.version == 1 ? kMagicOne : kMagic2One;
  std::memcpy(bytes.data() + (h.version == 1 ? kMagic1At : kMagic2At), magic.data(), magic.size());
  if (h.version == 1) w.put(38, 'r');  // regular, which readers of Analyze look for
  w.integer<std::int16_t, std::int64_t>(40, 16, h.shape.size());
  for (std::size_t i = 1; i <= kMostAxes; ++i)
    w.integer<std::int16_t, std::int64_t>(40 + 2 * i, 16 + 8 * i,
                                          static_cast<int>(i) <= h.shape.size() ? h.shape[static_cast<int>(i) - 1] : 1);
  for (const Code& c : kCodes)
    if (c.dtype == h.dtype) w.integer<std::int16_t, std::int16_t>(70, 12, c.code);
  constexpr index_t bits = 8;
  w.integer<std::int16_t, std::int16_t>(72, 14, bits * size_bytes(h.dtype));
  w.real(112, 176, h.slope);
  w.real(116, 184, h.inter);
  if (h.version == 1)
    w.put(108, static_cast<float>(h.data));
  else
    w.put(168, h.data);
  visit(w, h);
  return bytes;
}

std::vector<Extension> parse_extensions(std::span<const std::byte> bytes, bool swapped) {
  constexpr std::size_t head = 8, multiple = 16;
  std::vector<Extension> all;
  if (bytes.size() < kExtender || bytes[0] == std::byte{0}) return all;
  bytes = bytes.subspan(kExtender);
  while (bytes.size() >= head) {
    const Reader r(bytes, 1, swapped);
    const auto size = r.get<std::int32_t>(0);
    if (size < static_cast<std::int32_t>(multiple) || size % static_cast<std::int32_t>(multiple) != 0 ||
        static_cast<std::size_t>(size) > bytes.size())
      break;
    const auto content = bytes.subspan(head, static_cast<std::size_t>(size) - head);
    all.push_back({r.get<std::int32_t>(4), {content.begin(), content.end()}});
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return all;
}

std::vector<std::byte> to_bytes(const std::vector<Extension>& extensions) {
  constexpr std::size_t head = 8, multiple = 16;
  std::vector<std::byte> bytes(kExtender);
  if (!extensions.empty()) bytes[0] = std::byte{1};
  for (const Extension& e : extensions) {
    const std::size_t begin = bytes.size(), size = (head + e.content.size() + multiple - 1) / multiple * multiple;
    bytes.resize(begin + size);
    Writer w(std::span<std::byte>(bytes).subspan(begin), 1);
    w.put(0, static_cast<std::int32_t>(size));
    w.put(4, e.code);
    std::copy(e.content.begin(), e.content.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin + head));
  }
  return bytes;
}

}  // namespace oriel::io::nifti
