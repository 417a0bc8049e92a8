// The one place where threads are started.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

#include "oriel/types.h"

namespace oriel::cpu {

/// Less memory than twice this is never gone through by two threads: even one that is awake takes a microsecond to
/// come. Tests set it to 1, before the first call, so that small problems are split too.
inline index_t task_bytes = 32 * 1024;

/// Threads that sleep are not woken for less work than this: waking takes microseconds, and they come tens of them
/// later. Tests set it to 0, before the first call, so that other threads are always asked.
inline std::chrono::nanoseconds worth_waking = std::chrono::microseconds(80);

/// Tests set it: what a calling thread does before and after its part of a loop, as a thread that waits may come to do
/// any work of its program's.
inline void (*while_waiting)() = nullptr;

/// Threads that a call uses when it names none: its executor's (executor.h), else oneTBB's. One in a child that was
/// forked after threads had been asked for: it has none of them.
int default_threads();

/// parallel_for without its short way.
void spread(index_t n, index_t bytes, int threads, const std::function<void(index_t begin, index_t end)>& body);

/// Runs body(begin, end) over a partition of [0, n) on at most `threads` threads (0: default_threads()); each of the n
/// takes about as long as going through `bytes` of memory. The partition depends on time and never matters for results.
/// An exception of a body reaches the caller. A thread that waits for others takes no other work of the caller's.
template <class Body>
void parallel_for(index_t n, index_t bytes, int threads, const Body& body) {
  if (n <= 0) return;
  bytes = std::max<index_t>(1, bytes);
  if (threads == 1 || n == 1 || n <= 2 * task_bytes / bytes) return body(index_t{0}, n);
  spread(n, bytes, threads, std::cref(body));
}

}  // namespace oriel::cpu
