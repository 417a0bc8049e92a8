// Rows of accumulators that are kept, and which they are.
#pragma once

#include <memory>

#include "cpu/runtime/arena.h"
#include "reduction.h"

namespace oriel::cpu {

class RowSlots {
 public:
  /// Which row a slot holds.
  struct Key {
    index_t task = -1;
    std::uint64_t row = 0;
    index_t place = 0;  // of parts of windows: where they begin, padding included

    friend bool operator==(const Key&, const Key&) = default;
  };

  RowSlots() = default;
  RowSlots(const RowReduction& how, index_t count, index_t elems, Arena& arena)
      : count_(count),
        value_bytes_(how.value_bytes),
        extra_bytes_(how.extra_bytes),
        value_pitch_((elems * value_bytes_ + 127) / 64 * 64),  // at least one element of slack
        extra_pitch_(extra_bytes_ == 0 ? 0 : (elems * extra_bytes_ + 127) / 64 * 64),
        value_(arena.take(count * value_pitch_)),
        extra_(extra_bytes_ == 0 ? nullptr : arena.take(count * extra_pitch_)),
        keys_(arena.take_array<Key>(count)) {
    std::uninitialized_value_construct_n(keys_, count);
  }

  index_t count() const { return count_; }
  /// Slot i from element `offset` on.
  RowOut at(index_t i, index_t offset = 0) const {
    RowOut out;
    out.value = value_ + i * value_pitch_ + offset * value_bytes_;
    if (extra_ != nullptr) out.extra = extra_ + i * extra_pitch_ + offset * extra_bytes_;
    return out;
  }
  /// True when slot i holds that row; otherwise it is going to.
  bool find(index_t i, const Key& key) {
    if (keys_[i] == key) return true;
    keys_[i] = key;
    return false;
  }
  /// One slot after the other.
  index_t next() { return turn_++ % count_; }

  index_t margins_of = -1;  // the tile that what stands around the rows belongs to

 private:
  index_t count_ = 0;
  index_t value_bytes_ = 0, extra_bytes_ = 0;  // of an element
  index_t value_pitch_ = 0, extra_pitch_ = 0;  // from one slot to the next, in bytes
  std::byte* value_ = nullptr;
  std::byte* extra_ = nullptr;
  Key* keys_ = nullptr;
  index_t turn_ = 0;
};

}  // namespace oriel::cpu
