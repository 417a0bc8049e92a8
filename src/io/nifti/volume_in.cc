#include "io/nifti/volume_in.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "byte_order.h"
#include "io/input_file.h"
#include "io/nifti/geometry.h"
#include "io/nifti/gzip_in.h"
#include "io/nifti/volume.h"
#include "io/placed_file.h"

namespace oriel::io {
namespace nifti {
namespace {

constexpr std::string_view kGz = ".gz";
constexpr std::size_t kEnding = 4;  // of .nii, .hdr, .img

class Plain : public Bytes {
 public:
  explicit Plain(const std::string& path) : file_(path, O_RDONLY, path) {}
  index_t read(void* to, index_t count, index_t at) override { return file_.read(to, count, at); }
  index_t most_bytes() const override { return file_.size(); }

 private:
  PlacedFile file_;
};

class Compressed : public Bytes {
 public:
  explicit Compressed(const std::string& path) : file_(path) {}
  index_t read(void* to, index_t count, index_t at) override { return file_.read(to, count, at); }
  index_t most_bytes() const override { return file_.most_bytes(); }
  void check_end(index_t at) override { file_.check_end(at); }

 private:
  GzipIn file_;
};

bool is_there(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

bool is_pair_name(const std::string& path) { return !name_of(path).lower.ends_with(".nii"); }

// The other file of a pair, whose ending is `ending`, in the letters that the one has.
std::string other_of_pair(const std::string& path, std::string ending) {
  const bool gz = name_of(path).gz;
  std::string stem = path.substr(0, path.size() - (gz ? kGz.size() : 0));
  const bool capitals = stem.back() < 'a';
  stem.resize(stem.size() - kEnding);
  if (capitals)
    for (char& c : ending)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const std::string plain = stem + ending, compressed = plain + std::string(kGz);
  if (is_there(gz ? compressed : plain)) return gz ? compressed : plain;
  return is_there(gz ? plain : compressed) ? (gz ? plain : compressed) : (gz ? compressed : plain);
}

Dtype scaled_dtype(Dtype stored) { return size_bytes(stored) <= 2 || stored == Dtype::f32 ? Dtype::f32 : Dtype::f64; }

template <class From, class To>
void scale(const std::byte* from, To* to, index_t count, double slope, double inter) {
  for (index_t i = 0; i < count; ++i) {
    From stored{};
    std::memcpy(&stored, from + i * static_cast<index_t>(sizeof stored), sizeof stored);
    to[i] = static_cast<To>(static_cast<double>(stored) * slope + inter);
  }
}

void scale_all(Dtype dtype, const std::byte* from, std::byte* to, index_t count, double slope, double inter) {
  auto* const f32 = reinterpret_cast<float*>(to);
  auto* const f64 = reinterpret_cast<double*>(to);
  switch (dtype) {
    case Dtype::u8:
      return scale<std::uint8_t>(from, f32, count, slope, inter);
    case Dtype::i8:
      return scale<std::int8_t>(from, f32, count, slope, inter);
    case Dtype::u16:
      return scale<std::uint16_t>(from, f32, count, slope, inter);
    case Dtype::i16:
      return scale<std::int16_t>(from, f32, count, slope, inter);
    case Dtype::f32:
      return scale<float>(from, f32, count, slope, inter);
    case Dtype::u32:
      return scale<std::uint32_t>(from, f64, count, slope, inter);
    case Dtype::i32:
      return scale<std::int32_t>(from, f64, count, slope, inter);
    case Dtype::u64:
      return scale<std::uint64_t>(from, f64, count, slope, inter);
    case Dtype::i64:
      return scale<std::int64_t>(from, f64, count, slope, inter);
    default:
      return scale<double>(from, f64, count, slope, inter);
  }
}

}  // namespace

Name name_of(const std::string& path) {
  Name name{.lower = path};
  for (char& c : name.lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  name.gz = name.lower.ends_with(kGz);
  if (name.gz) name.lower.resize(name.lower.size() - kGz.size());
  return name;
}

std::unique_ptr<Bytes> open_bytes(const std::string& path) {
  if (!is_regular(path))
    throw Error(fmt::format("{}: a pipe or a device; allowed: a file, whose parts can be read", path));
  if (name_of(path).gz) return std::make_unique<Compressed>(path);
  return std::make_unique<Plain>(path);
}

NiftiIn::NiftiIn(const std::string& path, std::optional<Dtype> asked) {
  const bool is_image = name_of(path).lower.ends_with(".img");
  const std::string head = is_image ? other_of_pair(path, ".hdr") : path;
  head_ = open_bytes(head);
  std::array<std::byte, kHeader2> bytes{};
  const index_t got = head_->read(bytes.data(), static_cast<index_t>(bytes.size()), 0);
  if (got == 0) throw Error(fmt::format("{}: the file is empty", head));
  header_ = parse_header(std::span(bytes).first(static_cast<std::size_t>(got)), head);
  if (header_.pair != is_pair_name(path))
    throw Error(fmt::format("{}: the header is that of {}; allowed in a file of this name: that of {}", head,
                            header_.pair ? "a pair, FILE.hdr and FILE.img" : "one file, FILE.nii",
                            header_.pair ? "one file" : "a pair"));
  file_ = path;
  if (header_.pair) {
    file_ = is_image ? path : other_of_pair(path, ".img");
    data_ = open_bytes(file_);
  }
  shape = header_.shape;
  for (int d = shape.size() - 1; d >= 0; --d) order.push_back(d);
  scaled_ = header_.scales();
  dtype = scaled_ ? scaled_dtype(header_.dtype) : header_.dtype;
  if (asked && *asked != dtype)
    throw Error(fmt::format("{}: the file holds {}{}, but {} was requested; allowed: {}", head, name(dtype),
                            scaled_ ? " (scaled)" : "", name(*asked), name(dtype)));
  const index_t needed = header_.data + element_count(shape) * size_bytes(header_.dtype);
  const index_t most = (data_ ? data_ : head_)->most_bytes();
  if (most < needed)
    throw Error(fmt::format(
        "{}: the NIfTI file is cut off: shape {} of {} from byte {} on needs {} bytes, but there are {}{}", file_,
        to_string(shape), name(header_.dtype), header_.data, needed, name_of(file_).gz ? "at most " : "", most));
}

std::vector<Extension> NiftiIn::extensions() {
  constexpr index_t most = index_t{1} << 20;  // of what is looked at
  const auto begin = static_cast<index_t>(header_.bytes());
  const index_t end = header_.pair ? head_->most_bytes() : header_.data;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::clamp<index_t>(end - begin, 0, most)));
  const index_t got = head_->read(bytes.data(), static_cast<index_t>(bytes.size()), begin);
  return parse_extensions(std::span(bytes).first(static_cast<std::size_t>(got)), header_.swapped);
}

void NiftiIn::read_stored() {
  scaled_ = false;
  dtype = header_.dtype;
}

void NiftiIn::read_values(std::byte* to, index_t count, index_t at) {
  const index_t size = size_bytes(header_.dtype);
  const index_t got = (data_ ? data_ : head_)->read(to, count * size, header_.data + at * size);
  if (got < count * size)
    throw Error(fmt::format("{}: the NIfTI file is cut off: the data end after {} bytes", file_,
                            header_.data + at * size + got));
  if (header_.swapped) detail::reverse_bytes(to, count, size);
}

void NiftiIn::read(const Extents& begin, const Tensor& to) {
  constexpr index_t piece = index_t{1} << 16;
  auto* const first = static_cast<std::byte*>(to.data);
  const index_t all = element_count(shape);
  for_each_run(shape, order, begin, to.shape, [&](index_t at, index_t in_box, index_t count) {
    std::byte* const run = first + in_box * size_bytes(dtype);
    if (!scaled_) {
      read_values(run, count, at);
    } else {
      stored_.resize(static_cast<std::size_t>(piece));
      const index_t most = piece / size_bytes(header_.dtype);
      for (index_t done = 0; done < count; done += most) {
        const index_t some = std::min(most, count - done);
        read_values(stored_.data(), some, at + done);
        scale_all(header_.dtype, stored_.data(), run + done * size_bytes(dtype), some, header_.slope, header_.inter);
      }
    }
    if (at + count == all) (data_ ? data_ : head_)->check_end(header_.data + all * size_bytes(header_.dtype));
  });
}

}  // namespace nifti

namespace {

// Whether pooling what is stored and scaling the result is the same as pooling what is scaled.
bool commutes(const Pool& pool, bool shifted) {
  const Windows& w = pool.windows;
  const auto any = [](const Extents& extents) {
    return std::any_of(extents.begin(), extents.end(), [](index_t n) { return n != 0; });
  };
  if (pool.nodata || pool.fill || pool.ignore || pool.min_count != 0 || pool.min_fraction != 0) return false;
  switch (pool.op) {
    case Op::avg: {
      const bool padded = any(w.pad_lo) || any(w.pad_hi) || w.padding != Padding::given || w.ceil_mode;
      return !shifted || (pool.divisor == 0 && !(padded && pool.count_include_pad));
    }
    case Op::max:
    case Op::min:
    case Op::median:
    case Op::quantile:
    case Op::mode:
    case Op::midrange:
    case Op::first:
    case Op::centre:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_nifti(const std::string& path) {
  const std::string name = nifti::name_of(path).lower;
  return name.ends_with(".nii") || name.ends_with(".hdr") || name.ends_with(".img");
}

std::unique_ptr<VolumeIn> open_nifti_volume(const std::string& path, std::optional<Dtype> asked) {
  return std::make_unique<nifti::NiftiIn>(path, asked);
}

void keep_nifti_scaling(VolumeIn& in, const Pool& pool) {
  auto* const nifti = dynamic_cast<nifti::NiftiIn*>(&in);
  if (nifti != nullptr && nifti->is_scaled() && nifti->header().slope > 0 && commutes(pool, nifti->header().inter != 0))
    nifti->read_stored();
}

std::optional<NiftiSpace> nifti_space(const VolumeIn& in) {
  const auto* const nifti = dynamic_cast<const nifti::NiftiIn*>(&in);
  if (nifti == nullptr) return std::nullopt;
  constexpr index_t space_units = 7, time_units = 56;
  const nifti::Header& h = nifti->header();
  NiftiSpace space;
  std::copy_n(h.pixdim.begin() + 1, space.spacing.size(), space.spacing.begin());
  switch (h.xyzt_units & space_units) {
    case 1:
      space.space_unit = "meter";
      break;
    case 2:
      space.space_unit = "millimeter";
      break;
    case 3:
      space.space_unit = "micrometer";
      break;
    default:
      break;
  }
  switch (h.xyzt_units & time_units) {
    case 8:
      space.time_unit = "second";
      break;
    case 16:
      space.time_unit = "millisecond";
      break;
    case 24:
      space.time_unit = "microsecond";
      break;
    default:
      break;
  }
  space.time_offset = h.toffset;
  space.affine = nifti::sform_of(h);
  if (!space.affine) space.affine = nifti::qform_of(h);
  return space;
}

}  // namespace oriel::io
