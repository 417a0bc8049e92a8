// Outputs that appear whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/bytes.h"
#include "io/output.h"
#include "io/unfinished.h"

namespace oriel::io {

/// A file being written beside its target: `commit` makes it appear under its name in one step, replacing what was
/// there; without commit nothing remains. Symbolic links are followed. A target that is no regular file (a device, a
/// pipe), and `-` for standard output, are written directly. Throws Error naming the target and the system's reason.
/// Example: OutputFile out("y.npy"); write_npy(out.writer(), y); out.commit();
class OutputFile : public Output {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile() override;

  void write(const void* from, std::size_t count);
  WriteBytes writer() {
    return [this](const void* from, std::size_t count) { write(from, count); };
  }
  /// Writes at a place of a regular file.
  void write_at(const void* from, std::size_t count, std::int64_t at);
  /// Empty for `-`.
  const std::string& target() const override { return target_; }
  const std::string& place() const override { return temporary_; }
  /// Begins with the bytes of a file that is there already. Shares them where the file system can.
  void begin_with(const std::string& path);
  /// Brings the bytes to the disk and closes the file, without giving it its name.
  void finish() override;
  void commit() override;

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;       // as given, for errors
  std::string target_;     // what appears
  std::string temporary_;  // beside it; empty where the target is written directly
  int descriptor_ = -1;
  std::optional<WatchedFile> watched_;
};

}  // namespace oriel::io
