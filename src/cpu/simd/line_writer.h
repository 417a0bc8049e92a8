// Results on their way past the caches, in pieces of any length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/simd/stream.h"

namespace oriel::cpu {

/// Writes whole lines past the caches. A line that two pieces share waits for the second one: written in halves it
/// would have to be read first, which took two thirds as long as the 8 KB before it.
class LineWriter {
 public:
  LineWriter() : store_(store_kernel()) {}
  ~LineWriter() { end_run(); }
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void write(const std::byte* from, index_t bytes, std::byte* to) {
    if (to != next_) end_run();
    if (held_ == 0) {
      const index_t head = std::min(bytes, static_cast<index_t>(-reinterpret_cast<std::uintptr_t>(to) % kLineBytes));
      std::memcpy(to, from, static_cast<std::size_t>(head));
      next_ = to + head;
      from += head;
      bytes -= head;
    } else {
      const index_t more = std::min(bytes, kLineBytes - held_);
      hold(from, more);
      from += more;
      bytes -= more;
      if (held_ < kLineBytes) return;
      store_(line_, kLineBytes, true, next_ - kLineBytes);
      held_ = 0;
    }
    const index_t whole = bytes / kLineBytes * kLineBytes;
    store_(from, whole, true, next_);
    next_ += whole;
    hold(from + whole, bytes - whole);
  }

 private:
  void hold(const std::byte* from, index_t bytes) {
    std::memcpy(line_ + held_, from, static_cast<std::size_t>(bytes));
    held_ += bytes;
    next_ += bytes;
  }
  void end_run() {
    if (held_ > 0) std::memcpy(next_ - held_, line_, static_cast<std::size_t>(held_));
    held_ = 0;
  }

  const StoreBytes store_;
  std::byte* next_ = nullptr;  // where a run of pieces goes on
  index_t held_ = 0;           // of its last line
  alignas(kLineBytes) std::byte line_[kLineBytes];
};

}  // namespace oriel::cpu
