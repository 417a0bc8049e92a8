#include "io/precomputed/segmentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>

#include "byte_order.h"
#include "oriel/window.h"

namespace oriel::io::precomputed {
namespace {

using Word = std::uint32_t;
using Words = std::vector<Word>;
constexpr index_t kWordBytes = sizeof(Word);
constexpr int kWordBits = 32, kTableBits = 24;
constexpr Word kTableMask = (Word{1} << kTableBits) - 1;
constexpr std::array<Word, 7> kBits{0, 1, 2, 4, 8, 16, 32};
constexpr index_t kHeaderWords = 2;

// A block: where it begins in the chunk, and the part of it that lies inside.
struct Block {
  std::array<index_t, 3> begin, shape;
};

template <class F>
void for_each_block(const Extents& chunk, const Extents& block, F f) {
  for (index_t z = 0; z < chunk[2]; z += block[2])
    for (index_t y = 0; y < chunk[1]; y += block[1])
      for (index_t x = 0; x < chunk[0]; x += block[0])
        f(Block{
            {x, y, z},
            {std::min(block[0], chunk[0] - x), std::min(block[1], chunk[1] - y), std::min(block[2], chunk[2] - z)}});
}

// Voxels of the block that lie inside the chunk: f(place in the chunk's channel, place in the whole block).
template <class F>
void for_each_voxel(const Extents& chunk, const Extents& block, const Block& b, F f) {
  for (index_t z = 0; z < b.shape[2]; ++z)
    for (index_t y = 0; y < b.shape[1]; ++y) {
      const index_t in_chunk = b.begin[0] + chunk[0] * (b.begin[1] + y + chunk[1] * (b.begin[2] + z));
      const index_t in_block = block[0] * (y + block[1] * z);
      for (index_t x = 0; x < b.shape[0]; ++x) f(in_chunk + x, in_block + x);
    }
}

index_t block_count(const Extents& chunk, const Extents& block) {
  index_t count = 1;
  for (int d = 0; d < block.size(); ++d) count *= ceil_div(chunk[d], block[d]);
  return count;
}
index_t channel_voxels(const Extents& chunk) { return chunk[0] * chunk[1] * chunk[2]; }
index_t channels_of(const Extents& chunk) { return chunk.size() > 3 ? chunk[3] : 1; }

class Input {
 public:
  Input(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), count_(static_cast<index_t>(bytes.size()) / kWordBytes), file_(file) {
    if (static_cast<index_t>(bytes.size()) % kWordBytes != 0) fail("its size is no multiple of 4 bytes");
  }

  // `what` is named if the word is not there.
  Word word(index_t at, const char* what) const {
    if (at >= count_) fail(fmt::format("{} would be at word {} of {}", what, at, count_));
    Word w = 0;
    std::memcpy(&w, bytes_.data() + at * kWordBytes, sizeof w);
    return detail::little_endian(w);
  }
  template <class T>
  T label(index_t at) const {
    T value = word(at, "a label");
    if constexpr (sizeof(T) > sizeof(Word)) value |= static_cast<T>(word(at + 1, "a label")) << kWordBits;
    return value;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: compressed_segmentation: the data are damaged: {}", file_, what));
  }

 private:
  std::span<const std::byte> bytes_;
  index_t count_;
  const std::string& file_;
};

template <class T>
void decode_block(const Input& in, index_t channel, index_t header, const Extents& chunk, const Extents& block,
                  const Block& b, T* to) {
  const Word first = in.word(header, "a block's header");
  const index_t table = channel + (first & kTableMask);
  const index_t values = channel + in.word(header + 1, "a block's header");
  const Word bits = first >> kTableBits;
  if (std::find(kBits.begin(), kBits.end(), bits) == kBits.end())
    in.fail(fmt::format("a block of {} bits for each voxel; allowed: 0, 1, 2, 4, 8, 16, 32", bits));
  constexpr index_t label_words = sizeof(T) > sizeof(Word) ? 2 : 1;
  if (bits == 0) {
    const T label = in.label<T>(table);
    return for_each_voxel(chunk, block, b, [&](index_t at, index_t) { to[at] = label; });
  }
  const Word mask = ~Word{0} >> (kWordBits - static_cast<int>(bits));
  for_each_voxel(chunk, block, b, [&](index_t at, index_t in_block) {
    const index_t bit = in_block * bits;
    const Word number = in.word(values + bit / kWordBits, "a block's numbers") >> (bit % kWordBits) & mask;
    to[at] = in.label<T>(table + static_cast<index_t>(number) * label_words);
  });
}

template <class T>
zarr::Bytes decode(std::span<const std::byte> from, const Extents& chunk, const Extents& block,
                   const std::string& file) {
  const Input in(from, file);
  const index_t voxels = channel_voxels(chunk), channels = channels_of(chunk);
  zarr::Bytes bytes(static_cast<std::size_t>(voxels * channels) * sizeof(T));
  auto* const to = reinterpret_cast<T*>(bytes.data());
  for (index_t c = 0; c < channels; ++c) {
    const index_t channel = in.word(c, "a channel's place");
    index_t header = channel;
    for_each_block(chunk, block, [&](const Block& b) {
      decode_block(in, channel, header, chunk, block, b, to + c * voxels);
      header += kHeaderWords;
    });
  }
  return bytes;
}

// One channel, whose places count from its own begin.
template <class T>
class Encoder {
 public:
  Encoder(const Extents& chunk, const Extents& block, const std::string& file)
      : chunk_(chunk), block_(block), file_(file) {}

  Words encode(const T* from) {
    words_.assign(static_cast<std::size_t>(block_count(chunk_, block_) * kHeaderWords), 0);
    std::size_t header = 0;
    for_each_block(chunk_, block_, [&](const Block& b) {
      encode_block(from, b, header);
      header += kHeaderWords;
    });
    return std::move(words_);
  }

 private:
  void encode_block(const T* from, const Block& b, std::size_t header) {
    labels_.clear();
    for_each_voxel(chunk_, block_, b, [&](index_t at, index_t) {
      if (labels_.empty() || labels_.back() != from[at]) labels_.push_back(from[at]);
    });
    std::sort(labels_.begin(), labels_.end());
    labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
    const Word bits =
        *std::find_if(kBits.begin(), kBits.end(), [&](Word n) { return labels_.size() <= std::uint64_t{1} << n; });
    const std::size_t values = words_.size();
    const index_t voxels = block_[0] * block_[1] * block_[2];
    words_.resize(values + static_cast<std::size_t>(ceil_div(voxels * bits, index_t{kWordBits})));
    if (bits > 0) {
      for_each_voxel(chunk_, block_, b, [&](index_t at, index_t in_block) {
        const auto place = std::lower_bound(labels_.begin(), labels_.end(), from[at]) - labels_.begin();
        const index_t bit = in_block * bits;
        words_[values + static_cast<std::size_t>(bit / kWordBits)] |= static_cast<Word>(place) << (bit % kWordBits);
      });
    }
    words_[header] = table() | bits << kTableBits;
    words_[header + 1] = static_cast<Word>(values);
  }

  // The place of the table of labels_; blocks with the same labels share one.
  Word table() {
    const auto [at, is_new] = tables_.try_emplace(labels_, words_.size());
    if (at->second > kTableMask)
      throw Error(
          fmt::format("{}: compressed_segmentation: a chunk of {} has too many labels; allowed: 64 MiB of "
                      "them, as in smaller chunks",
                      file_, to_string(chunk_)));
    if (is_new) {
      for (const T label : labels_) {
        words_.push_back(static_cast<Word>(label));
        if constexpr (sizeof(T) > sizeof(Word)) words_.push_back(static_cast<Word>(label >> kWordBits));
      }
    }
    return static_cast<Word>(at->second);
  }

  const Extents& chunk_;
  const Extents& block_;
  const std::string& file_;
  Words words_;
  std::vector<T> labels_;
  std::map<std::vector<T>, std::size_t> tables_;
};

template <class T>
zarr::Bytes encode(std::span<const std::byte> from, const Extents& chunk, const Extents& block,
                   const std::string& file) {
  const index_t channels = channels_of(chunk);
  Words all(static_cast<std::size_t>(channels));
  for (index_t c = 0; c < channels; ++c) {
    all[static_cast<std::size_t>(c)] = static_cast<Word>(all.size());
    const Words words =
        Encoder<T>(chunk, block, file).encode(reinterpret_cast<const T*>(from.data()) + c * channel_voxels(chunk));
    all.insert(all.end(), words.begin(), words.end());
  }
  if (all.size() > ~Word{0}) throw Error(fmt::format("{}: a chunk of {} is too large", file, to_string(chunk)));
  for (Word& word : all) word = detail::little_endian(word);
  const auto bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

zarr::Bytes decode_segmentation(std::span<const std::byte> from, const Extents& chunk, const Extents& block,
                                Dtype dtype, const std::string& file) {
  return dtype == Dtype::u32 ? decode<std::uint32_t>(from, chunk, block, file)
                             : decode<std::uint64_t>(from, chunk, block, file);
}

zarr::Bytes encode_segmentation(std::span<const std::byte> from, const Extents& chunk, const Extents& block,
                                Dtype dtype, const std::string& file) {
  return dtype == Dtype::u32 ? encode<std::uint32_t>(from, chunk, block, file)
                             : encode<std::uint64_t>(from, chunk, block, file);
}

index_t most_segmentation(const Extents& chunk, const Extents& block, Dtype dtype) {
  const index_t voxels = block[0] * block[1] * block[2];
  const index_t each = kHeaderWords * kWordBytes + voxels * (kWordBytes + size_bytes(dtype));
  index_t bytes = 0;
  constexpr index_t most = std::numeric_limits<index_t>::max() / 4;  // what a caller adds can be counted, too
  if (__builtin_mul_overflow(block_count(chunk, block) * channels_of(chunk), each, &bytes) || bytes > most) return most;
  return std::min(channels_of(chunk) * kWordBytes + bytes, most);
}

}  // namespace oriel::io::precomputed
