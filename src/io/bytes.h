// Streams of bytes, as the readers and writers of formats see them.
#pragma once

#include <cstddef>
#include <functional>

namespace oriel::io {

/// Reads at most `count` bytes; 0 at the end. Throws Error.
using ReadBytes = std::function<std::size_t(void* to, std::size_t count)>;
/// Writes all bytes or throws Error.
using WriteBytes = std::function<void(const void* from, std::size_t count)>;

}  // namespace oriel::io
