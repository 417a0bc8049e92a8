// A file that is read or written at places.
#pragma once

#include <string>

#include "oriel/types.h"

namespace oriel::io {

/// Errors call the file `file`; all of its functions throw Error.
class PlacedFile {
 public:
  /// `flags` as those of open(2).
  PlacedFile(const std::string& place, int flags, std::string file);
  PlacedFile(const PlacedFile&) = delete;
  PlacedFile& operator=(const PlacedFile&) = delete;
  ~PlacedFile();

  index_t size() const;
  void resize(index_t bytes);
  /// Fewer bytes than asked for only at the end of the file.
  index_t read(void* to, index_t count, index_t at) const;
  void write(const void* from, index_t count, index_t at);
  /// Brings everything to the disk.
  void close();
  const std::string& file() const { return file_; }

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string file_;
  int descriptor_ = -1;
};

}  // namespace oriel::io
