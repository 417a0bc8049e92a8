#include "io/zarr/codec.h"

#include <blosc.h>
#include <fmt/format.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

#include "byte_order.h"
#include "io/zarr/crc32c.h"
#include "oriel/types.h"

namespace oriel::io::zarr {
namespace {

using Input = std::span<const std::byte>;
using detail::little_endian;

constexpr std::size_t kWord = sizeof(std::uint32_t);

[[noreturn]] void fail(const std::string& file, Codec::Kind kind, std::string_view what) {
  throw Error(fmt::format("{}: {}: {}", file, name(kind), what));
}

[[noreturn]] void fail_long(const std::string& file, Codec::Kind kind, std::size_t most) {
  fail(file, kind, fmt::format("the data are longer than a chunk; allowed: {} bytes", most));
}

std::uint32_t word_at(Input bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, kWord);
  return little_endian(word);
}

void append_word(Bytes& bytes, std::uint32_t word) {
  word = little_endian(word);
  const std::size_t before = bytes.size();
  bytes.resize(before + kWord);
  std::memcpy(bytes.data() + before, &word, kWord);
}

// zlib counts in 32 bits.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
int window_bits(Codec::Kind kind) { return kind == Codec::Kind::gzip ? 15 + 16 : 15; }

Bytes inflate_all(Codec::Kind kind, Input from, std::size_t most, const std::string& file) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits(kind)) != Z_OK) fail(file, kind, "out of memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, &inflateEnd);
  Bytes to(most);
  std::size_t read = 0, made = 0;
  Bytef nothing = 0;  // written to if there is too much
  for (;;) {
    const std::size_t in = std::min(from.size() - read, kMostAtOnce), room = std::min(most - made, kMostAtOnce);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = room > 0 ? reinterpret_cast<Bytef*>(to.data() + made) : &nothing;
    stream.avail_out = static_cast<uInt>(std::max<std::size_t>(room, 1));
    const int result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    const std::size_t put = std::max<std::size_t>(room, 1) - stream.avail_out;
    if (put > room) fail_long(file, kind, most);
    made += put;
    if (result == Z_STREAM_END) {
      if (read == from.size()) break;
      if (kind == Codec::Kind::zlib) fail(file, kind, "bytes follow the compressed data");
      if (inflateReset(&stream) != Z_OK) fail(file, kind, "out of memory");  // the next member
    } else if (result != Z_OK) {
      fail(file, kind, result == Z_BUF_ERROR ? "the data are cut off" : "the data are damaged");
    }
  }
  to.resize(made);
  return to;
}

Bytes deflate_all(const Codec& codec, Input from, const std::string& file) {
  z_stream stream{};
  constexpr int memory_level = 8;
  if (deflateInit2(&stream, codec.level, Z_DEFLATED, window_bits(codec.kind), memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    fail(file, codec.kind, "out of memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, &deflateEnd);
  Bytes to(deflateBound(&stream, from.size()));
  std::size_t read = 0, made = 0;
  for (int result = Z_OK; result != Z_STREAM_END;) {
    const std::size_t in = std::min(from.size() - read, kMostAtOnce), room = std::min(to.size() - made, kMostAtOnce);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(to.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    result = deflate(&stream, read + in == from.size() ? Z_FINISH : Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) fail(file, codec.kind, "cannot compress");
    read += in - stream.avail_in;
    made += room - stream.avail_out;
  }
  to.resize(made);
  return to;
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
// Of a thread: making one for each chunk would take as long as a tenth of a fast compression.
template <class T>
using Context = std::unique_ptr<T, FreeContext>;

// Levels above may search by rows, where newer versions of zstd find other matches in a context that was used before;
// and their contexts are large.
constexpr int kMostKeptLevel = 3;

Bytes decode_zstd(Input from, std::size_t most, const std::string& file) {
  Bytes to(most);
  static thread_local Context<ZSTD_DCtx> context;
  if (!context) context.reset(ZSTD_createDCtx());
  if (!context) fail(file, Codec::Kind::zstd, "out of memory");
  const std::size_t made = ZSTD_decompressDCtx(context.get(), to.data(), most, from.data(), from.size());
  if (ZSTD_isError(made) != 0) {
    if (ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall) fail_long(file, Codec::Kind::zstd, most);
    fail(file, Codec::Kind::zstd, ZSTD_getErrorName(made));
  }
  to.resize(made);
  return to;
}

Bytes encode_zstd(const Codec& codec, Input from, const std::string& file) {
  static thread_local Context<ZSTD_CCtx> kept;
  Context<ZSTD_CCtx> context = std::move(kept);
  if (!context) context.reset(ZSTD_createCCtx());
  if (!context) fail(file, codec.kind, "out of memory");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, codec.level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, codec.checksum ? 1 : 0);
  Bytes to(ZSTD_compressBound(from.size()));
  const std::size_t made = ZSTD_compress2(context.get(), to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(made) != 0) fail(file, codec.kind, ZSTD_getErrorName(made));
  if (codec.level <= kMostKeptLevel) kept = std::move(context);
  to.resize(made);
  return to;
}

// The size, then one block: numcodecs' framing.
Bytes decode_lz4(Input from, std::size_t most, const std::string& file) {
  constexpr auto kind = Codec::Kind::lz4;
  constexpr std::size_t limit = std::numeric_limits<int>::max();
  if (from.size() < kWord || from.size() > limit) fail(file, kind, "the data are cut off");
  const std::size_t size = word_at(from, 0);
  if (size > most || size > limit) fail_long(file, kind, most);
  Bytes to(size);
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(from.data()) + kWord, reinterpret_cast<char*>(to.data()),
                          static_cast<int>(from.size() - kWord), static_cast<int>(size));
  if (made < 0 || static_cast<std::size_t>(made) != size) fail(file, kind, "the data are damaged");
  return to;
}

Bytes encode_lz4(const Codec& codec, Input from, const std::string& file) {
  if (from.size() > LZ4_MAX_INPUT_SIZE) fail(file, codec.kind, "the chunk is larger than 2 GB");
  Bytes to;
  append_word(to, static_cast<std::uint32_t>(from.size()));
  const int bound = LZ4_compressBound(static_cast<int>(from.size()));
  to.resize(kWord + static_cast<std::size_t>(bound));
  const int made =
      LZ4_compress_fast(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()) + kWord,
                        static_cast<int>(from.size()), bound, codec.level);
  if (made <= 0) fail(file, codec.kind, "cannot compress");
  to.resize(kWord + static_cast<std::size_t>(made));
  return to;
}

Bytes decode_blosc(Input from, std::size_t most, const std::string& file) {
  constexpr auto kind = Codec::Kind::blosc;
  std::size_t size = 0;
  if (from.size() < BLOSC_MIN_HEADER_LENGTH || blosc_cbuffer_validate(from.data(), from.size(), &size) < 0)
    fail(file, kind, "the data are damaged or cut off");
  if (size > most) fail_long(file, kind, most);
  Bytes to(size);
  const int made = size == 0 ? 0 : blosc_decompress_ctx(from.data(), to.data(), size, 1);
  if (made < 0 || static_cast<std::size_t>(made) != size)
    fail(file, kind, "the data are damaged, or of a compressor that this libblosc lacks");
  return to;
}

Bytes encode_blosc(const Codec& codec, Input from, const std::string& file) {
  if (from.size() > BLOSC_MAX_BUFFERSIZE) fail(file, codec.kind, "the chunk is larger than 2 GB");
  Bytes to(from.size() + BLOSC_MAX_OVERHEAD);
  const int made = blosc_compress_ctx(codec.level, codec.shuffle, codec.element, from.size(), from.data(), to.data(),
                                      to.size(), codec.compressor.c_str(), codec.block, 1);
  if (made <= 0) fail(file, codec.kind, "cannot compress");
  to.resize(static_cast<std::size_t>(made));
  return to;
}

Bytes decode_crc32c(Input from, std::size_t most, const std::string& file) {
  constexpr auto kind = Codec::Kind::crc32c;
  if (from.size() < kWord) fail(file, kind, "the data are cut off");
  const Input data = from.first(from.size() - kWord);
  if (data.size() > most) fail_long(file, kind, most);
  if (crc32c(data) != word_at(from, data.size())) fail(file, kind, "the checksum is wrong: the data are damaged");
  return {data.begin(), data.end()};
}

}  // namespace

std::string_view name(Codec::Kind kind) {
  constexpr std::array<std::string_view, 6> names{"gzip", "zlib", "zstd", "lz4", "blosc", "crc32c"};
  return names.at(static_cast<std::size_t>(kind));
}

Bytes decode(const Codec& codec, Input from, std::size_t most, const std::string& file) {
  switch (codec.kind) {
    case Codec::Kind::gzip:
    case Codec::Kind::zlib:
      return inflate_all(codec.kind, from, most, file);
    case Codec::Kind::zstd:
      return decode_zstd(from, most, file);
    case Codec::Kind::lz4:
      return decode_lz4(from, most, file);
    case Codec::Kind::blosc:
      return decode_blosc(from, most, file);
    case Codec::Kind::crc32c:
      break;
  }
  return decode_crc32c(from, most, file);
}

Bytes encode(const Codec& codec, Input from, const std::string& file) {
  switch (codec.kind) {
    case Codec::Kind::gzip:
    case Codec::Kind::zlib:
      return deflate_all(codec, from, file);
    case Codec::Kind::zstd:
      return encode_zstd(codec, from, file);
    case Codec::Kind::lz4:
      return encode_lz4(codec, from, file);
    case Codec::Kind::blosc:
      return encode_blosc(codec, from, file);
    case Codec::Kind::crc32c:
      break;
  }
  Bytes to(from.begin(), from.end());
  append_word(to, crc32c(from));
  return to;
}

Bytes decode(const std::vector<Codec>& codecs, Bytes from, std::size_t size, const std::string& file) {
  for (std::size_t i = codecs.size(); i-- > 0;)
    from = decode(codecs[i], from, i == 0 ? size : most_encoded(size), file);
  if (from.size() != size)
    throw Error(fmt::format("{}: the chunk has {} bytes; allowed: {}, what its metadata say", file, from.size(), size));
  return from;
}

Bytes encode(const std::vector<Codec>& codecs, Bytes from, const std::string& file) {
  for (const Codec& codec : codecs) from = encode(codec, from, file);
  return from;
}

std::size_t most_encoded(std::size_t size) {
  constexpr std::size_t more = 65536;  // headers
  return size + size / 8 + more;
}

}  // namespace oriel::io::zarr
