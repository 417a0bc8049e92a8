#include "io/tiff/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "quoted.h"

namespace oriel::io::tiff {
namespace {

constexpr index_t kSideUnit = 16;  // sides of tiles are multiples of it

index_t tile_side(index_t n) { return std::min(kTileSide, (n + kSideUnit - 1) / kSideUnit * kSideUnit); }

// Offsets of 32 bits reach 4 GiB; compression may make what cannot be compressed a little larger.
bool needs_big(const PageSpec& page, index_t pages, index_t tile_pixels) {
  constexpr index_t most = (index_t{1} << 32) - (index_t{1} << 26), directory = 1024;
  const index_t tiles = (page.rows / kTileSide + 1) * (page.columns / kTileSide + 1);
  const index_t tile = tile_pixels * page.samples * size_bytes(page.dtype) + tile_pixels / kSideUnit;
  index_t bytes = 0, all = 0;
  return __builtin_mul_overflow(tiles, tile, &bytes) || __builtin_mul_overflow(bytes + directory, pages, &all) ||
         all > most;
}

std::uint16_t sample_format(Dtype dtype) {
  switch (dtype) {
    case Dtype::u8:
    case Dtype::u16:
    case Dtype::u32:
    case Dtype::u64:
      return SAMPLEFORMAT_UINT;
    case Dtype::f16:
    case Dtype::f32:
    case Dtype::f64:
      return SAMPLEFORMAT_IEEEFP;
    default:
      return SAMPLEFORMAT_INT;
  }
}

}  // namespace

Writer::Writer(const std::string& place, std::string name, const PageSpec& page, index_t pages)
    : name_(std::move(name)),
      page_(page),
      tile_rows_(tile_side(page.rows)),
      tile_columns_(tile_side(page.columns)),
      tile_(static_cast<std::size_t>(tile_rows_ * tile_columns_ * page.samples * size_bytes(page.dtype))) {
  const auto options = errors_.options();
  if (!options) throw Error(fmt::format("{}: out of memory", name_));
  constexpr mode_t mode = 0666;
  descriptor_ = ::open(place.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor_ < 0) throw Error(fmt::format("{}: cannot write here: {}", name_, std::strerror(errno)));
  tiff_ = TIFFFdOpenExt(descriptor_, name_.c_str(), needs_big(page, pages, tile_rows_ * tile_columns_) ? "w8l" : "wl",
                        options.get());
  if (tiff_ == nullptr) fail();
}

Writer::~Writer() {
  if (tiff_ != nullptr) TIFFCleanup(tiff_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Writer::fail() {
  const int error = errno;
  const bool by_system = error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
  throw Error(fmt::format("{}: cannot write: {}", name_,
                          by_system              ? std::strerror(error)
                          : errors_.said.empty() ? "libtiff gives no reason"
                                                 : detail::shortened(errors_.said, Errors::kMostText)));
}

void Writer::set_tags(TIFF* t) const {
  constexpr int bits = 8, fast = 1;
  const auto samples = static_cast<std::uint16_t>(page_.samples);
  const bool whole_numbers = sample_format(page_.dtype) != SAMPLEFORMAT_IEEEFP;
  const bool colours = (samples == 3 || samples == 4) && (page_.dtype == Dtype::u8 || page_.dtype == Dtype::u16);
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(page_.columns));
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(page_.rows));
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, static_cast<int>(size_bytes(page_.dtype)) * bits);
  TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, sample_format(page_.dtype));
  TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, samples);
  TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, colours ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  const int extra = samples - (colours ? 3 : 1);
  const bool alpha = extra == 1 && (colours || samples == 2);
  if (extra > 0) {
    const std::vector<std::uint16_t> kinds(static_cast<std::size_t>(extra),
                                           alpha ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED);
    TIFFSetField(t, TIFFTAG_EXTRASAMPLES, static_cast<std::uint16_t>(extra), kinds.data());
  }
  TIFFSetField(t, TIFFTAG_TILEWIDTH, static_cast<std::uint32_t>(tile_columns_));
  TIFFSetField(t, TIFFTAG_TILELENGTH, static_cast<std::uint32_t>(tile_rows_));
  TIFFSetField(t, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
  TIFFSetField(t, TIFFTAG_ZIPQUALITY, fast);
  // That of floats is unknown to many programs.
  if (whole_numbers) TIFFSetField(t, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
}

void Writer::add_page(const std::function<void(TIFF*)>& more, const Fill& fill) {
  errno = 0;
  errors_.said.clear();
  set_tags(tiff_);
  more(tiff_);
  if (!errors_.said.empty()) fail();
  const index_t size = size_bytes(page_.dtype);
  std::uint32_t number = 0;
  for (index_t row = 0; row < page_.rows; row += tile_rows_) {
    for (index_t column = 0; column < page_.columns; column += tile_columns_, ++number) {
      const index_t rows = std::min(tile_rows_, page_.rows - row);
      const index_t columns = std::min(tile_columns_, page_.columns - column);
      if (rows < tile_rows_ || columns < tile_columns_) std::fill(tile_.begin(), tile_.end(), std::byte{0});
      const Extents shape = {rows, columns, page_.samples};
      const index_t line = columns * page_.samples * size;
      dense_.resize(static_cast<std::size_t>(rows * line));
      fill(row, column, Tensor(dense_.data(), page_.dtype, shape));
      for (index_t r = 0; r < rows; ++r)
        std::memcpy(tile_.data() + r * tile_columns_ * page_.samples * size, dense_.data() + r * line,
                    static_cast<std::size_t>(line));
      errno = 0;
      if (TIFFWriteEncodedTile(tiff_, number, tile_.data(), static_cast<tmsize_t>(tile_.size())) < 0) fail();
    }
  }
  errno = 0;
  if (TIFFWriteDirectory(tiff_) != 1) fail();
}

void Writer::close() {
  errno = 0;
  errors_.said.clear();
  if (TIFFFlush(tiff_) != 1 || ::fsync(descriptor_) != 0) fail();
  TIFFCleanup(tiff_);  // closes nothing
  tiff_ = nullptr;
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail();
}

}  // namespace oriel::io::tiff
