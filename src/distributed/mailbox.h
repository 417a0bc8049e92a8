// A message that is read where it was packed, by another thread or process of the machine.
#pragma once

#include <atomic>
#include <cstdint>

namespace oriel::distributed {

/// Counts of the times that a message was packed and that it was read; they lie in memory that both sides see. Each has
/// a line of its own: one side writes it, the other waits for it.
struct Mailbox {
  alignas(64) std::uint64_t packed = 0;
  alignas(64) std::uint64_t read = 0;

  void pack(std::uint64_t time) { std::atomic_ref(packed).store(time, std::memory_order_release); }
  void take(std::uint64_t time) { std::atomic_ref(read).store(time, std::memory_order_release); }
  bool is_packed(std::uint64_t time) { return std::atomic_ref(packed).load(std::memory_order_acquire) >= time; }
  bool is_read(std::uint64_t time) { return std::atomic_ref(read).load(std::memory_order_acquire) >= time; }
};
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "processes share no locks");

}  // namespace oriel::distributed
