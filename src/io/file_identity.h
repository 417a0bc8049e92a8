// Which file a path leads to, and whether it is still what it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace oriel::io {

/// What a symbolic link leads to, even if nothing is there yet. Throws Error when links lead in a circle.
std::string follow_links(std::string path);

/// A regular file or a folder: by device and inode, whatever it is called; one that is not there yet by its folder and
/// its name.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  std::string name;  ///< in that folder; empty if the file is there
  bool operator==(const FileIdentity&) const = default;
};

/// The file that reading or writing `path` would use, links followed; `-` is standard input. Nothing for
/// a device or a pipe, and if the folder that it lies in is not there.
std::optional<FileIdentity> identity_of(const std::string& path);

/// Whether both lead to one regular file or folder, there already or not.
bool is_same_file(const std::string& a, const std::string& b);

/// Brings a folder's entries to the disk, as far as its file system can; empty: the folder that the process is in.
void sync_folder(const std::string& folder) noexcept;

/// What changes when a file is written to or replaced.
struct FileState {
  std::uint64_t device = 0, inode = 0;               ///< both 0: there is none
  std::int64_t size = 0, modified = 0, changed = 0;  ///< times in nanoseconds
  bool there() const { return device != 0 || inode != 0; }
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path);

}  // namespace oriel::io
