// One writer at a time brings its part into a file that holds several.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "io/unfinished.h"
#include "oriel/types.h"

namespace oriel::io {

/// How long a writer waits for another at most.
inline constexpr std::chrono::seconds kLongestWait{600};

/// What a writer throws that has waited for as long as it may.
struct NotInTime : Error {
  using Error::Error;
};

/// Held by whoever brings arrays into an archive or an HDF5 file, from the look at what is there until the new file has
/// its name. It is a lock of the system on an empty file `.NAME.lock` beside `target`: a process that dies lets go of
/// it, on a network file system too, and the file is removed by its last holder. A file system without locks has none:
/// then the look right before the rename must do.
class WriterLock {
 public:
  /// Waits until no other writer has it. Throws NotInTime naming `file` after `longest`.
  WriterLock(const std::string& target, const std::string& file, std::chrono::milliseconds longest = kLongestWait);
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock();

 private:
  bool is_ours() const;  // whether the file that is locked is the one that others would lock

  std::string place_;
  int descriptor_ = -1;
  std::optional<WatchedFile> watched_;  // while it is held: a signal removes it
};

/// Keeps programs that lock what they write, as HDF5's do, from beginning to write the file at `target`, and waits for
/// those that do so; throws NotInTime after `longest`. The file may be read meanwhile.
class NoWriters {
 public:
  NoWriters(const std::string& target, const std::string& file, std::chrono::milliseconds longest = kLongestWait);
  NoWriters(const NoWriters&) = delete;
  NoWriters& operator=(const NoWriters&) = delete;
  ~NoWriters();

 private:
  int descriptor_ = -1;
};

}  // namespace oriel::io
