// What appears under its name whole or not at all: a file (output_file.h) or a folder of files (output_folder.h).
#pragma once

#include <string>

namespace oriel::io {

/// Made beside its target; without commit nothing remains.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;

  /// What appears: the path with its links followed.
  virtual const std::string& target() const = 0;
  /// Where it is until commit, for those who write it by other means; empty if the target is written directly.
  virtual const std::string& place() const = 0;
  /// Brings everything to the disk, without giving it its name. Throws Error.
  virtual void finish() = 0;
  /// finish, then the name. Throws Error.
  virtual void commit() = 0;
};

}  // namespace oriel::io
