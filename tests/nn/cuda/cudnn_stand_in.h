// A library with those functions of cuDNN that Oriel calls, for the grid emulator: convolutions by loops over its
// memory. Tests tell it what takes how long and what fails, and read what was called.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cudnn_stand_in {

/// The emulator's functions, which the library cannot link to.
struct Grid {
  bool (*all_written)(const void* p, std::size_t bytes) = nullptr;
  void (*mark_written)(const void* p, std::size_t bytes) = nullptr;
  double* clock = nullptr;
};

inline constexpr int kAlgorithms = 8, kNotSupported = 3000;

/// A convolution that was carried out.
struct Call {
  int algorithm = -1, math = -1, nan = -1;
  void* stream = nullptr;
  std::vector<int> x, y;  // shape, then strides
  const void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

struct State {
  Grid grid;
  std::size_t version = 90100;
  std::array<double, kAlgorithms> milliseconds{-1, -1, -1, -1, -1, -1, -1, -1};  // of a run; below 0: takes no shape
  std::array<std::size_t, kAlgorithms> workspace{};
  std::map<std::string, int> failing;  // a function's status from now on, by name
  std::vector<Call> calls;
  std::vector<std::string> complaints;  // what the real library would not forgive
  int living = 0;                       // handles and descriptors

  /// As it was loaded, but for the emulator.
  void reset() {
    const Grid kept = grid;
    *this = {};
    grid = kept;
  }
};

/// The library's exported function of that name.
using StateOf = State* (*)();
inline constexpr const char* kStateOf = "oriel_cudnn_stand_in";

}  // namespace cudnn_stand_in
