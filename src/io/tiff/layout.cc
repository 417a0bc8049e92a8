#include "io/tiff/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "io/memory_bound.h"

namespace oriel::io::tiff {
namespace {

constexpr const char* kAllowed = "integers of 8, 16, 32 and 64 bits, floats of 16, 32 and 64 bits";

const char* kind_of(std::uint16_t format) {
  switch (format) {
    case SAMPLEFORMAT_INT:
      return "signed ";
    case SAMPLEFORMAT_IEEEFP:
      return "floating-point ";
    case SAMPLEFORMAT_COMPLEXINT:
    case SAMPLEFORMAT_COMPLEXIEEEFP:
      return "complex ";
    default:
      return "";
  }
}

// Makes the codecs give what is read: colours of JPEG as RGB, SGI's logarithms as floats.
void prepare_codec(const File& file, index_t page, std::uint16_t compression, std::uint16_t photometric) {
  if (TIFFIsCODECConfigured(compression) != 1)
    file.refuse(fmt::format("image {} has the compression {}, which this libtiff does not have", page, compression));
  if (compression == COMPRESSION_SGILOG || compression == COMPRESSION_SGILOG24)
    TIFFSetField(file.get(), TIFFTAG_SGILOGDATAFMT, SGILOGDATAFMT_FLOAT);
  if (photometric != PHOTOMETRIC_YCBCR) return;
  if (compression == COMPRESSION_JPEG) {
    TIFFSetField(file.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    return;
  }
  std::uint16_t across = 2, down = 2;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_YCBCRSUBSAMPLING, &across, &down);
  if (across != 1 || down != 1)
    file.refuse(fmt::format("image {} has chroma of {}x{} pixels outside JPEG; allowed: 1x1", page, across, down));
}

void check_tile(const File& file, const Layout& l, index_t page) {
  const char* const what = l.tiled ? "tile" : "strip";
  // Sides are numbers of 32 bits, samples of 16, and a sample has at most 8 bytes: 128 bits hold the product.
  __extension__ using Wide = unsigned __int128;
  const Wide bytes =
      Wide(l.tile_rows) * Wide(l.tile_columns) * Wide(l.tile_samples()) * static_cast<Wide>(size_bytes(l.dtype));
  const Wide plane = Wide(l.rows) * Wide(l.columns) * Wide(l.samples) * static_cast<Wide>(size_bytes(l.dtype));
  constexpr Wide most = std::numeric_limits<index_t>::max() / 8;
  if (bytes > most || plane > most) file.refuse(fmt::format("image {} has more than 2^60 bytes", page));
  const std::uint64_t decoded =
      l.tiled ? TIFFTileSize64(file.get()) : TIFFVStripSize64(file.get(), static_cast<std::uint32_t>(l.tile_rows));
  if (decoded != static_cast<std::uint64_t>(bytes))
    file.refuse(fmt::format("image {} has samples that are packed in an unknown way: a {} of {} bytes has {}", page,
                            what, static_cast<std::uint64_t>(bytes), decoded));
  if (!l.stored_raw)
    check_memory(file.name(), fmt::format("a {} of {}x{} pixels", what, l.tile_rows, l.tile_columns), l.tile_bytes());
}

}  // namespace

std::optional<Dtype> sample_dtype(const File& file) {
  std::uint16_t bits = 1, format = SAMPLEFORMAT_UINT;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_SAMPLEFORMAT, &format);
  if (format == SAMPLEFORMAT_IEEEFP) {
    if (bits == 16) return Dtype::f16;
    if (bits == 32) return Dtype::f32;
    if (bits == 64) return Dtype::f64;
    return std::nullopt;
  }
  const bool negative = format == SAMPLEFORMAT_INT;
  if (!negative && format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID) return std::nullopt;
  if (bits == 8) return negative ? Dtype::i8 : Dtype::u8;
  if (bits == 16) return negative ? Dtype::i16 : Dtype::u16;
  if (bits == 32) return negative ? Dtype::i32 : Dtype::u32;
  if (bits == 64) return negative ? Dtype::i64 : Dtype::u64;
  return std::nullopt;
}

Layout read_layout(const File& file, index_t page) {
  TIFF* const t = file.get();
  const auto compression = file.field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  prepare_codec(file, page, compression, file.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK));
  const std::optional<Dtype> dtype = sample_dtype(file);
  if (!dtype) {
    std::uint16_t bits = 1, format = SAMPLEFORMAT_UINT;
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &format);
    file.refuse(fmt::format("image {} has {}samples of {} bit{}; allowed: {}", page, kind_of(format), bits,
                            bits == 1 ? "" : "s", kAllowed));
  }
  Layout l;
  l.dtype = *dtype;
  l.rows = file.field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
  l.columns = file.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
  std::uint16_t samples = 1, planar = PLANARCONFIG_CONTIG, fill = FILLORDER_MSB2LSB;
  TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetFieldDefaulted(t, TIFFTAG_FILLORDER, &fill);
  l.samples = samples;
  l.separate = planar == PLANARCONFIG_SEPARATE && samples > 1;
  l.tiled = TIFFIsTiled(t) != 0;
  l.stored_raw = compression == COMPRESSION_NONE && fill == FILLORDER_MSB2LSB;
  l.swapped = TIFFIsByteSwapped(t) != 0;
  if (l.tiled) {
    l.tile_rows = file.field<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
    l.tile_columns = file.field<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
  } else {
    std::uint32_t rows = 0;
    TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &rows);
    l.tile_rows = std::min<index_t>(rows, l.rows);
    l.tile_columns = l.columns;
  }
  if (l.rows < 1 || l.columns < 1 || l.samples < 1 || l.tile_rows < 1 || l.tile_columns < 1)
    file.refuse(fmt::format("image {} is empty: {}x{} pixels of {} samples, in pieces of {}x{}", page, l.rows,
                            l.columns, l.samples, l.tile_rows, l.tile_columns));
  check_tile(file, l, page);
  return l;
}

}  // namespace oriel::io::tiff
