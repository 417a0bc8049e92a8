// A plain copy, the measure of what memory allows.
#pragma once

#include <barrier>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace oriel::cli {

/// Moves `bytes` of traffic: reads half of them and writes the other half, with memcpy on a number of threads that wait
/// between copies.
class CopyBound {
 public:
  CopyBound(std::size_t bytes, int threads);
  CopyBound(const CopyBound&) = delete;
  CopyBound& operator=(const CopyBound&) = delete;
  ~CopyBound();

  void run();

 private:
  void copy_part(int part);

  std::size_t half_;
  int threads_;
  std::vector<std::byte> from_, to_;
  std::barrier<> gate_;
  bool done_ = false;
  std::vector<std::thread> team_;
};

}  // namespace oriel::cli
