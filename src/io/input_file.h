// Reading bytes: mapped files and standard input.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/bytes.h"

namespace oriel::io {

/// The bytes of a file, mapped read-only, and what unmaps them.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> memory;
};

/// True for a regular file, which can be mapped; false for a pipe or a device. Throws Error when it cannot be opened.
bool is_regular(const std::string& path);

/// Maps a regular file. Throws Error naming it and the system's reason.
MappedFile map_file(const std::string& path);

/// A reader of a file descriptor that stays open; `file` is what errors call it.
ReadBytes read_descriptor(int descriptor, std::string file);

/// A reader of a pipe or device, opened here.
ReadBytes open_stream(const std::string& path);

/// Fills [to, to + count) as far as the stream goes; the bytes that came.
std::size_t read_fully(const ReadBytes& read, void* to, std::size_t count);

/// Everything that a stream holds. Throws Error naming `file` when that is more than memory_bound.
std::vector<std::byte> read_all(const ReadBytes& read, const std::string& file);

/// The bytes already read, then the rest of the stream.
ReadBytes put_back(std::vector<std::byte> head, ReadBytes rest);

/// Bytes from which a format can be told; a stream may have fewer.
inline constexpr std::size_t kFormatBytes = 12;
/// The first bytes of a stream.
std::vector<std::byte> read_head(const ReadBytes& read);

}  // namespace oriel::io
