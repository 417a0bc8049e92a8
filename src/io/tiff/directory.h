// Directories of a TIFF that is being written.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "oriel/types.h"

namespace oriel::io::tiff {

/// The tags of an image, in this machine's byte order. Example: Directory d; d.set(TIFFTAG_IMAGEWIDTH, TIFF_LONG, 640);
class Directory {
 public:
  /// Values of a type as large as T.
  template <class T>
  void set_list(std::uint32_t tag, TIFFDataType type, std::span<const T> values) {
    add(tag, type, values.size(), std::as_bytes(values));
  }
  void set(std::uint32_t tag, TIFFDataType type, std::uint32_t value);
  /// With a zero at the end.
  void set_text(std::uint32_t tag, const std::string& text);
  /// A positive number as the quotient of two of 32 bits.
  void set_rational(std::uint32_t tag, double value);
  /// Places in the file, of 32 bits, or in a BigTIFF of 64. `type` is LONG or IFD.
  void set_places(std::uint32_t tag, TIFFDataType type, std::vector<std::uint64_t> places);
  bool has(std::uint32_t tag) const;

  /// Bytes that it takes with the values that it points to: a multiple of 8.
  index_t bytes(bool big) const;
  /// Those bytes, for the place `at`; `next` is that of the next directory, 0: none.
  std::vector<std::byte> made(bool big, std::uint64_t at, std::uint64_t next) const;

 private:
  struct Field {
    std::uint16_t tag = 0, type = 0;
    std::uint64_t count = 0;
    std::vector<std::byte> values;
    std::vector<std::uint64_t> places;  // instead of values
  };
  void add(std::uint32_t tag, TIFFDataType type, std::uint64_t count, std::span<const std::byte> values);
  static index_t value_bytes(const Field& field, bool big);

  std::vector<Field> fields_;  // by their tags
};

/// The first bytes of a TIFF, and how many they are; `first` is the place of the first directory.
std::vector<std::byte> tiff_header(bool big, std::uint64_t first);
index_t tiff_header_bytes(bool big);

}  // namespace oriel::io::tiff
