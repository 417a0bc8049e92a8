// The one place where threads are started.
#pragma once

#include <algorithm>
#include <functional>

#include "oriel/types.h"

namespace oriel::cpu {

/// A thread is not asked to go through less memory than about this: handing work over takes microseconds. Tests set it
/// to 1, before the first call, so that small problems are split too.
inline index_t task_bytes = 256 * 1024;

/// Threads that a call uses when it names none.
int default_threads();

/// parallel_for without its short way: a thread gets at least `least` of [0, n) at a time.
void spread(index_t n, index_t least, int threads, const std::function<void(index_t begin, index_t end)>& body);

/// Runs body(begin, end) over a partition of [0, n) on at most `threads` threads (0: default_threads()); each of the n
/// goes through about `bytes` of memory. The partition never matters for results. An exception of a body reaches the
/// caller.
template <class Body>
void parallel_for(index_t n, index_t bytes, int threads, const Body& body) {
  if (n <= 0) return;
  const index_t least = std::max<index_t>(1, task_bytes / std::max<index_t>(1, bytes));
  if (threads == 1 || n <= least) return body(index_t{0}, n);
  spread(n, least, threads, std::cref(body));
}

}  // namespace oriel::cpu
