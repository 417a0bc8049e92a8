// Memory beyond the caches: written past them, and read in its order.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// Results of so many bytes are seldom in a cache when they are written, so that writing them past it need not read
/// them first: where they are not, averages of 2x2 take half the time from 1.6 MB on, and reading dx afterwards as long
/// as before; where a caller writes the same 6 to 13 MB again and again and nothing else, 1.7 times as long. Tests set
/// it to 1, so that small problems are written so too.
inline index_t stream_bytes = index_t{8} << 20;
/// Only whole lines of the caches are written so without being read.
inline constexpr index_t kLineBytes = 64;

/// A tensor of so many bytes is in no cache of a processor's own. Tests set it to 1, so that small ones are read so
/// too.
inline index_t far_bytes = index_t{4} << 20;

/// Reads a byte of every line of a run of memory before it is folded. What is folded is several rows side by side,
/// which the hardware foresees less well than one run: of planes of 112x112 in memory 2x2 step 2 takes two thirds of
/// the time.
inline void read_lines(const void* begin, index_t bytes) {
  const auto* line = static_cast<const volatile unsigned char*>(begin);
  for (const auto* const end = line + bytes; line < end; line += kLineBytes) (void)*line;
}
/// So much at once: it is still in the first cache when it is folded.
inline constexpr index_t kReadBytes = 4 * 1024;

/// Makes what was written past the caches visible to other threads.
void finish_stream();

/// Copies; `past_caches` if the result is too large for them.
using StoreBytes = void (*)(const void* from, index_t bytes, bool past_caches, void* to);

/// That of the instruction set in use.
StoreBytes store_kernel();

}  // namespace oriel::cpu
