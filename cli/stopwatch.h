// Time passed between the steps of a command, and how a person is told of it.
#pragma once

#include <fmt/format.h>

#include <chrono>

#include "cli/quantities.h"

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

/// `pooled in 59.3 ms, 9.45 s in all`: what a part of the work took, and the whole of it.
inline std::string spent(std::string_view part, double seconds, double all) {
  return fmt::format("{} in {}, {} in all", part, show_seconds(seconds), show_seconds(all));
}

}  // namespace oriel::cli
