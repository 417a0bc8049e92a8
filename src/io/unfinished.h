// Names of outputs that are being written, which a signal handler removes.
#pragma once

#include <string>

namespace oriel::io {

/// While it lives, remove_unfinished_outputs removes the file or the folder at `place`. The first 8 of a program are
/// known; later ones stay where they are if a signal ends it.
class WatchedFile {
 public:
  explicit WatchedFile(const std::string& place);
  WatchedFile(const WatchedFile&) = delete;
  WatchedFile& operator=(const WatchedFile&) = delete;
  ~WatchedFile();

 private:
  int slot_;
};

/// Removes the temporary files and folders of unfinished outputs; may be called by a signal handler.
void remove_unfinished_outputs() noexcept;

}  // namespace oriel::io
