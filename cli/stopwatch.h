// Time that passes.
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
  /// Seconds since it was made.
  double in_all() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - made_).count(); }

 private:
  std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now(), start_ = made_;
};

/// Adds to a sum the seconds for which it lives.
class AddSeconds {
 public:
  explicit AddSeconds(double& sum) : sum_(sum) {}
  AddSeconds(const AddSeconds&) = delete;
  AddSeconds& operator=(const AddSeconds&) = delete;
  ~AddSeconds() { sum_ += watch_.in_all(); }

 private:
  double& sum_;
  Stopwatch watch_;
};

}  // namespace oriel::cli
