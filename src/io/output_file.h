// Outputs that appear whole or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "io/bytes.h"

namespace oriel::io {

/// A file being written beside its target: `commit` makes it appear under its name in one step, replacing what was
/// there; without commit nothing remains. Symbolic links are followed. A target that is no regular file (a device, a
/// pipe), and `-` for standard output, are written directly. Throws Error naming the target and the system's reason.
/// Example: OutputFile out("y.npy"); write_npy(out.writer(), y); out.commit();
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(const void* from, std::size_t count);
  WriteBytes writer() {
    return [this](const void* from, std::size_t count) { write(from, count); };
  }
  /// Writes at a place of a regular file.
  void write_at(const void* from, std::size_t count, std::int64_t at);
  /// The file that appears: `path` with its links followed. Empty for `-`.
  const std::string& target() const { return target_; }
  /// Where the bytes are until commit, for those who write them by other means; empty where the target is written
  /// directly.
  const std::string& place() const { return temporary_; }
  /// Begins with the bytes of a file that is there already. Shares them where the file system can.
  void begin_with(const std::string& path);
  /// Brings the bytes to the disk and closes the file, without giving it its name.
  void finish();
  /// finish, then the name.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;       // as given, for errors
  std::string target_;     // what appears
  std::string temporary_;  // beside it; empty where the target is written directly
  int descriptor_ = -1;
  int slot_ = -1;  // in the list of unfinished files
};

/// The temporary file of an output that another process makes: a signal that ends this one removes it too.
class WatchedFile {
 public:
  explicit WatchedFile(const std::string& place);
  WatchedFile(const WatchedFile&) = delete;
  WatchedFile& operator=(const WatchedFile&) = delete;
  ~WatchedFile();

 private:
  int slot_;
};

/// Removes the temporary files of unfinished outputs; may be called by a signal handler.
void remove_unfinished_outputs() noexcept;

}  // namespace oriel::io
