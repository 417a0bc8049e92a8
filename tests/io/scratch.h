// Files that the tests of io write and read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "io/array.h"
#include "io/bytes.h"
#include "support.h"

namespace oriel::io {

using test::error_of;

/// An empty folder that is gone when the test ends.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Names of the files in it, hidden ones too, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path folder_;
};

void write_text(const std::string& path, std::string_view bytes);
std::string read_text(const std::string& path);
/// What `write` was given.
std::string written(const std::function<void(const WriteBytes&)>& write);
/// A stream of `bytes` that comes in pieces of at most `piece`.
ReadBytes stream_of(std::string bytes, std::size_t piece);
/// 0, 1, 2 … in C order.
Buffer counting(Dtype dtype, const Extents& shape);
/// Elements of both in C order, as bytes.
std::string elements(const ConstTensor& t);

}  // namespace oriel::io
