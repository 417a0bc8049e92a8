#include "cli/copy_bound.h"

#include <cstring>

namespace oriel::cli {

CopyBound::CopyBound(std::size_t bytes, int threads)
    : half_(bytes / 2 > 0 ? bytes / 2 : 1), threads_(threads), from_(half_, std::byte{1}), to_(half_), gate_(threads) {
  for (int part = 1; part < threads_; ++part) {
    team_.emplace_back([this, part] {
      for (;;) {
        gate_.arrive_and_wait();
        if (done_) return;
        copy_part(part);
        gate_.arrive_and_wait();
      }
    });
  }
}

CopyBound::~CopyBound() {
  done_ = true;
  if (threads_ > 1) gate_.arrive_and_wait();
  for (std::thread& thread : team_) thread.join();
}

void CopyBound::run() {
  if (threads_ > 1) gate_.arrive_and_wait();
  copy_part(0);
  if (threads_ > 1) gate_.arrive_and_wait();
}

void CopyBound::copy_part(int part) {
  const std::size_t begin = half_ * static_cast<std::size_t>(part) / static_cast<std::size_t>(threads_);
  const std::size_t end = half_ * static_cast<std::size_t>(part + 1) / static_cast<std::size_t>(threads_);
  std::memcpy(to_.data() + begin, from_.data() + begin, end - begin);
  asm volatile("" : : "r"(to_.data()) : "memory");  // the copy is looked at, so it cannot be left out
}

}  // namespace oriel::cli
