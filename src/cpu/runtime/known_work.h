// How long loops take one thread, by what they took before: whether they are worth sharing.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "oriel/types.h"

namespace oriel::cpu {

/// With a worker that is awake: handing over takes 1 to 3 us.
constexpr std::chrono::nanoseconds kWorthSharing = std::chrono::microseconds(7);

/// Parts that are shorter are not made to even out.
constexpr std::chrono::nanoseconds kChunk = std::chrono::microseconds(30);

inline std::chrono::nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

/// What this thread knows of loops of `n` parts of `bytes` each. The same bytes take times that differ by a hundred;
/// loops of the same size that take unlike times go by the longer of them.
class KnownWork {
 public:
  KnownWork(index_t n, index_t bytes) : n_(n), bytes_(bytes), entry_(entry_of(n, bytes)) {
    if (!mine()) entry_ = {.n = n, .bytes = bytes};
  }

  /// What takes little is timed now and then only.
  bool worth_timing() {
    constexpr int kTimed = 7;
    return alone() >= kWorthSharing || ++entry_.calls % kTimed == 0;
  }

  std::chrono::nanoseconds alone() const {
    constexpr index_t kBytes = 3;  // in a nanosecond: what is not known yet is shared rather than not
    return entry_.alone.count() > 0 ? entry_.alone : std::chrono::nanoseconds(n_ * bytes_ / kBytes);
  }

  /// It took so many threads that time: between all and none of what they can help.
  void took(std::chrono::nanoseconds time, int threads) {
    using std::chrono::nanoseconds;
    time = time * (1 + threads) / 2;
    if (mine()) entry_.alone = std::max({time, entry_.alone - (entry_.alone - time) / 4, nanoseconds(1)});
  }

 private:
  struct Entry {
    index_t n = 0, bytes = 0;
    std::chrono::nanoseconds alone{0};
    unsigned calls = 0;
  };

  static Entry& entry_of(index_t n, index_t bytes) {
    static thread_local std::array<Entry, 64> entries;
    const std::uint64_t mixed =
        (static_cast<std::uint64_t>(n) * 31 + static_cast<std::uint64_t>(bytes)) * 0x9e3779b97f4a7c15U;
    return entries[mixed >> 58];
  }

  // While a thread waits, other work of its may take the place.
  bool mine() const { return entry_.n == n_ && entry_.bytes == bytes_; }

  index_t n_, bytes_;
  Entry& entry_;
};

}  // namespace oriel::cpu
