#include "io/zarr/sharded_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "byte_order.h"
#include "element_copy.h"

namespace oriel::io::zarr {
namespace {

bool is_zero(const Bytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// Bits of the numbers along all axes by turns, those of the last axis lowest.
index_t z_number(const Extents& at) {
  index_t number = 0;
  int taken = 0;
  constexpr int kBits = 60;
  for (int bit = 0; taken < kBits; ++bit) {
    for (int d = at.size() - 1; d >= 0 && taken < kBits; --d) number |= ((at[d] >> bit) & 1) << taken++;
  }
  return number;
}

}  // namespace

ShardedOut::ShardedOut(std::string place, std::string name, Metadata metadata)
    : place_(std::move(place)), name_(std::move(name)), metadata_(std::move(metadata)) {}

ShardedOut::Where ShardedOut::where(const Extents& begin) const {
  Where w;
  for (int d = 0; d < begin.size(); ++d) {
    const index_t chunks = metadata_.grid[d] / metadata_.chunk()[d], at = begin[d] / metadata_.chunk()[d];
    w.shard.push_back(at / chunks);
    w.chunk = w.chunk * chunks + at % chunks;
  }
  return w;
}

// In Z order, without those that lie beyond the end of the array.
std::vector<index_t> ShardedOut::order_in(const Extents& shard) const {
  Extents count, there, at = Extents::filled(shard.size(), 0);
  for (int d = 0; d < shard.size(); ++d) {
    const index_t chunk = metadata_.chunk()[d];
    count.push_back(metadata_.grid[d] / chunk);
    const index_t left = metadata_.shape[d] - shard[d] * metadata_.grid[d];
    there.push_back(std::min(count[d], (left + chunk - 1) / chunk));
  }
  std::vector<std::pair<index_t, index_t>> numbers;  // in Z order; in the shard
  for (;;) {
    index_t number = 0;
    for (int d = 0; d < at.size(); ++d) number = number * count[d] + at[d];
    numbers.emplace_back(z_number(at), number);
    int d = at.size() - 1;
    for (; d >= 0 && ++at[d] == there[d]; --d) at[d] = 0;
    if (d < 0) break;
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<index_t> order;
  order.reserve(numbers.size());
  for (const auto& [z, number] : numbers) order.push_back(number);
  return order;
}

void ShardedOut::write(const Extents& begin, const ConstTensor& from) {
  Bytes bytes(static_cast<std::size_t>(metadata_.chunk_bytes()));
  const Tensor whole(bytes.data(), from.dtype, from.shape, dense_pitch(metadata_.chunk()));
  oriel::detail::copy_elements(from, whole);
  if (is_zero(bytes)) return take(begin, std::nullopt);  // the fill value
  if (oriel::detail::kBigEndian) {
    const index_t element = size_bytes(metadata_.dtype);
    oriel::detail::reverse_bytes(bytes.data(), metadata_.chunk_bytes() / element, element);
  }
  take(begin, encode(metadata_.codecs, std::move(bytes), name_));
}

void ShardedOut::leave_out(const Extents& begin, const Extents&) { take(begin, std::nullopt); }

void ShardedOut::take(const Extents& begin, std::optional<Bytes> encoded) {
  const Where w = where(begin);
  const std::string key = metadata_.key(w.shard);
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = shards_.try_emplace(key);
  Shard& shard = found->second;
  if (is_new) {
    shard.order = order_in(w.shard);
    shard.file = std::make_unique<ShardWriter>(place_ + "/" + key, name_, metadata_);
  }
  if (!shard.waiting.emplace(w.chunk, std::move(encoded)).second) {
    throw Error(fmt::format("{}: chunk {} of {} is written twice", name_, w.chunk, key));
  }
  while (shard.next < shard.order.size()) {
    const auto ready = shard.waiting.find(shard.order[shard.next]);
    if (ready == shard.waiting.end()) return;
    if (ready->second) shard.file->append(ready->first, *ready->second);
    shard.waiting.erase(ready);
    ++shard.next;
  }
  shard.file->close();
  shards_.erase(found);
}

void ShardedOut::close() {
  const std::lock_guard lock(mutex_);
  if (!shards_.empty()) throw Error(fmt::format("{}: {} shards lack chunks", name_, shards_.size()));
}

}  // namespace oriel::io::zarr
