// A TIFF file that libtiff reads, from a file or from memory.
#pragma once

#include <tiffio.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "io/tiff/errors.h"
#include "oriel/types.h"

namespace oriel::io::tiff {

/// Bytes that are read at places.
struct Source {
  /// The bytes that came, fewer only at the end; -1: an error, which errno tells.
  std::function<index_t(void* to, index_t count, index_t at)> read;
  index_t size = 0;
};

/// A regular file. Throws Error naming it.
Source file_source(const std::string& path);
/// Bytes that must outlive it.
Source memory_source(std::span<const std::byte> bytes);

/// An open TIFF. What libtiff says of errors becomes the text of an Error; its warnings are not shown.
class File {
 public:
  /// `name` is what errors call it. Throws Error if it does not begin as a TIFF does.
  File(Source source, std::string name);
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  TIFF* get() const { return tiff_; }
  const std::string& name() const { return name_; }
  index_t size() const { return source_.size; }
  /// Bytes as they are in the file. Throws Error if they are not there.
  void read_raw(void* to, index_t count, index_t at) const;

  /// A number of the current directory; `otherwise` if it is not there.
  template <class T>
  T field(std::uint32_t tag, T otherwise) const {
    T value{};
    return TIFFGetField(tiff_, tag, &value) == 1 ? value : otherwise;
  }
  /// A text of the current directory; empty if it is not there.
  std::string text(std::uint32_t tag) const;

  /// Goes to the directory at a place of the file. Throws Error.
  void go_to(std::uint64_t directory);
  /// Goes to the next directory; false: that was the last. Throws Error if the next is damaged.
  bool next();

  /// From now on only later errors count.
  void forget_errors() { errors_.said.clear(); }
  /// Throws Error: `NAME: cannot read the TIFF: ` and what libtiff said last.
  [[noreturn]] void fail(const std::string& otherwise) const;
  /// Throws Error: `NAME: ` and this.
  [[noreturn]] void refuse(const std::string& text) const;

 private:
  struct Calls;

  void check_directory();
  void close();

  Source source_;
  std::string name_;
  Errors errors_;  // since the last call
  index_t at_ = 0;
  TIFF* tiff_ = nullptr;
};

}  // namespace oriel::io::tiff
