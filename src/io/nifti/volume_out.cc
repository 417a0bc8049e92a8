#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "byte_order.h"
#include "io/array.h"
#include "io/file_identity.h"
#include "io/nifti/geometry.h"
#include "io/nifti/volume.h"
#include "io/nifti/volume_in.h"
#include "io/output_file.h"
#include "io/placed_file.h"
#include "io/temporary_name.h"
#include "io/unfinished.h"

namespace oriel::io {
namespace nifti {
namespace {

constexpr std::string_view kAllowed = "allowed for others: .npy, .zarr";

// Truth values are stored as 0 and 1.
Dtype stored_dtype(Dtype dtype) { return dtype == Dtype::boolean ? Dtype::u8 : dtype; }

void check(const std::string& path, const VolumeSpec& spec) {
  if (spec.dtype == Dtype::f16 || spec.dtype == Dtype::bf16)
    throw Error(fmt::format("{}: NIfTI holds integers and floats of 32 and 64 bits, but the result is {}; {}", path,
                            name(spec.dtype), kAllowed));
  const int rank = spec.shape.size();
  if (rank < 1 || rank > kMostAxes)
    throw Error(fmt::format("{}: a NIfTI file must have 1 to {} axes, but the result has {}; {}", path, kMostAxes, rank,
                            kAllowed));
  if (std::any_of(spec.shape.begin(), spec.shape.end(), [](index_t n) { return n < 1; }))
    throw Error(fmt::format("{}: the result has the shape {}; allowed in a NIfTI file: sizes from 1 on", path,
                            to_string(spec.shape)));
  const auto* const like = dynamic_cast<const NiftiIn*>(spec.like);
  if (like != nullptr && like->shape.size() != rank)
    throw Error(fmt::format("{}: with several quantiles the result has an axis before x, y and z; {}", path, kAllowed));
}

// Comments stay. What other extensions say (positions, colours, names of subjects) is about the input.
std::vector<Extension> extensions_of(const VolumeSpec& spec) {
  std::vector<Extension> all;
  if (auto* const like = dynamic_cast<NiftiIn*>(spec.like)) {
    for (Extension& e : like->extensions())
      if (e.code == kComment) all.push_back(std::move(e));
  }
  if (spec.problem.empty()) return all;
  const std::string text = "oriel_problem=" + spec.problem;
  const auto bytes = std::as_bytes(std::span(text));
  all.push_back({kComment, {bytes.begin(), bytes.end()}});
  return all;
}

Header header_of(const VolumeSpec& spec) {
  Header h;
  if (const auto* const like = dynamic_cast<const NiftiIn*>(spec.like)) {
    h = pooled(like->header(), spec.problem);
    if (like->is_scaled() || !like->header().scales()) {
      h.slope = 1;
      h.inter = 0;
    }
  }
  h.swapped = h.pair = false;
  h.dtype = stored_dtype(spec.dtype);
  h.shape = spec.shape;
  constexpr index_t most = std::numeric_limits<std::int16_t>::max();
  if (*std::max_element(h.shape.begin(), h.shape.end()) > most) h.version = 2;
  return h;
}

class NiftiOut : public VolumeOut {
 public:
  NiftiOut(const std::string& place, const std::string& file, const VolumeSpec& spec)
      : file_(place, O_RDWR, file), shape_(spec.shape) {
    std::array<std::byte, kHeader2> bytes{};
    const index_t got = file_.read(bytes.data(), static_cast<index_t>(bytes.size()), 0);
    data_ = parse_header(std::span(bytes).first(static_cast<std::size_t>(got)), file).data;
    for (int d = shape_.size() - 1; d >= 0; --d) order_.push_back(d);
  }

  // In pieces, each of which is turned round in memory.
  void write(const Extents& begin, const ConstTensor& from) override {
    constexpr index_t most = index_t{1} << 19;
    const index_t size = size_bytes(from.dtype);
    int axis = from.rank() - 1;
    while (axis > 0 && from.shape[axis] == 1) --axis;
    if (element_count(from.shape) * size > most && from.shape[axis] > 1) {
      ConstTensor half = from;
      half.shape[axis] /= 2;
      write(begin, half);
      Extents middle = begin;
      middle[axis] += half.shape[axis];
      half.data = static_cast<const std::byte*>(from.data) + half.shape[axis] * from.pitch[axis] * size;
      half.shape[axis] = from.shape[axis] - half.shape[axis];
      return write(middle, half);
    }
    turned_.resize(static_cast<std::size_t>(element_count(from.shape) * size));
    copy(from, Tensor(turned_.data(), from.dtype, from.shape, dense_pitch(from.shape, order_)));
    if (detail::kBigEndian) detail::reverse_bytes(turned_.data(), element_count(from.shape), size);
    for_each_run(shape_, order_, begin, from.shape, [&](index_t at, index_t in_box, index_t count) {
      file_.write(turned_.data() + in_box * size, count * size, data_ + at * size);
    });
  }
  void close() override { file_.close(); }

 private:
  PlacedFile file_;
  Extents shape_, order_;
  index_t data_ = 0;
  std::vector<std::byte> turned_;
};

// A gzip stream that is written to a file. The same bytes every time: it has no name and no date.
class GzipOut {
 public:
  explicit GzipOut(PlacedFile& file) : file_(file), out_(kPiece) {
    constexpr int level = 1, gzip = 15 + 16, memory = 8;
    if (::deflateInit2(&z_, level, Z_DEFLATED, gzip, memory, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  }
  GzipOut(const GzipOut&) = delete;
  GzipOut& operator=(const GzipOut&) = delete;
  ~GzipOut() { ::deflateEnd(&z_); }

  void put(std::byte* from, index_t count, bool last) {
    z_.next_in = reinterpret_cast<Bytef*>(from);
    z_.avail_in = static_cast<uInt>(count);
    do {
      z_.next_out = reinterpret_cast<Bytef*>(out_.data());
      z_.avail_out = static_cast<uInt>(out_.size());
      ::deflate(&z_, last ? Z_FINISH : Z_NO_FLUSH);
      const auto made = static_cast<index_t>(out_.size() - z_.avail_out);
      file_.write(out_.data(), made, at_);
      at_ += made;
    } while (z_.avail_out == 0);
  }

  static constexpr std::size_t kPiece = std::size_t{1} << 16;

 private:
  PlacedFile& file_;
  z_stream z_{};
  std::vector<std::byte> out_;
  index_t at_ = 0;
};

void compress(const std::string& place, const std::string& made, const std::string& name) {
  const PlacedFile raw(place, O_RDONLY, name);
  PlacedFile file(made, O_WRONLY | O_CREAT | O_EXCL, name);
  GzipOut gzip(file);
  std::vector<std::byte> piece(GzipOut::kPiece);
  const index_t size = raw.size();
  for (index_t at = 0; at < size;) {
    const index_t got = raw.read(piece.data(), std::min<index_t>(size - at, static_cast<index_t>(piece.size())), at);
    if (got == 0) throw Error(fmt::format("{}: the temporary file became shorter while it was compressed", name));
    at += got;
    gzip.put(piece.data(), got, at == size);
  }
  file.close();
}

}  // namespace
}  // namespace nifti

std::unique_ptr<Output> make_nifti_output(const std::string& path) {
  if (!nifti::name_of(path).lower.ends_with(".nii"))
    throw Error(fmt::format("{}: pairs of files are read only; allowed: FILE.nii, FILE.nii.gz", path));
  return std::make_unique<OutputFile>(path);
}

void create_nifti_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  nifti::check(path, spec);
  nifti::Header header = nifti::header_of(spec);
  const std::vector<std::byte> extensions = nifti::to_bytes(nifti::extensions_of(spec));
  constexpr index_t multiple = 16;
  const auto after = static_cast<index_t>(header.bytes() + extensions.size());
  header.data = ceil_div(after, multiple) * multiple;
  const std::vector<std::byte> bytes = nifti::to_bytes(header);
  PlacedFile file(place, O_WRONLY, path);
  file.write(bytes.data(), static_cast<index_t>(bytes.size()), 0);
  file.write(extensions.data(), static_cast<index_t>(extensions.size()), static_cast<index_t>(bytes.size()));
  file.resize(header.data + element_count(spec.shape) * size_bytes(spec.dtype));
}

std::unique_ptr<VolumeOut> open_nifti_output(const std::string& place, const std::string& path,
                                             const VolumeSpec& spec) {
  return std::make_unique<nifti::NiftiOut>(place, path, spec);
}

void complete_nifti_volume(const std::string& place, const std::string& path, const VolumeSpec&) {
  if (!nifti::name_of(path).gz) return;
  const std::string made = temporary_name(follow_links(path));
  struct Made {
    explicit Made(const std::string& at) : file(at), watched(at) {}
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() { ::unlink(file.c_str()); }
    std::string file;
    WatchedFile watched;
  };
  const Made guard(made);
  nifti::compress(place, made, path);
  constexpr mode_t permissions = 07777;
  struct stat info {};
  if (::stat(place.c_str(), &info) != 0 || ::chmod(made.c_str(), info.st_mode & permissions) != 0 ||
      std::rename(made.c_str(), place.c_str()) != 0)
    throw Error(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

}  // namespace oriel::io
