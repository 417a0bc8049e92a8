// Time passed between the steps of a command.
#pragma once

#include <chrono>

namespace oriel::cli {

/// Times the steps of a command, one after another.
class Stopwatch {
 public:
  /// Seconds since it was made, or since the last call.
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - start_;
    start_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace oriel::cli
