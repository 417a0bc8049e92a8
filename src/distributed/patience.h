// Waiting with a deadline.
#pragma once

#include <chrono>
#include <thread>

namespace oriel::distributed {

class Patience {
 public:
  explicit Patience(double seconds)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds))) {}

  /// Gives way to others; false when the time is over. The first calls only spin: most messages are almost there.
  bool wait() {
    if (++calls_ < kSpins) return true;
    std::this_thread::yield();
    return calls_ % kSpins != 0 || std::chrono::steady_clock::now() < end_;
  }

 private:
  static constexpr int kSpins = 64;
  std::chrono::steady_clock::time_point end_;
  unsigned calls_ = 0;
};

}  // namespace oriel::distributed
