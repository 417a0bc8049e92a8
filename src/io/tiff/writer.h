// A TIFF that libtiff writes: pages of equal size, in tiles, compressed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/tiff/errors.h"
#include "io/tiff/layout.h"
#include "oriel/tensor.h"

namespace oriel::io::tiff {

/// What is written of each page.
struct PageSpec {
  index_t rows = 0, columns = 0, samples = 1;
  Dtype dtype = Dtype::u8;
};

/// Sides of tiles that are written: of pages that are smaller, the next multiple of 16.
inline constexpr index_t kTileSide = 256;

/// A new file. Errors call it `name`. Nothing is at `place` yet.
class Writer {
 public:
  Writer(const std::string& place, std::string name, const PageSpec& page, index_t pages);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// A page: `more` sets further tags of it; `fill` fills a tile, dense, whose first pixel and size it is given.
  using Fill = std::function<void(index_t row, index_t column, const Tensor& to)>;
  void add_page(const std::function<void(TIFF*)>& more, const Fill& fill);
  /// Brings it to the disk.
  void close();

 private:
  [[noreturn]] void fail();
  void set_tags(TIFF* t) const;

  Errors errors_;
  std::string name_;
  PageSpec page_;
  index_t tile_rows_, tile_columns_;
  int descriptor_ = -1;
  TIFF* tiff_ = nullptr;
  std::vector<std::byte> tile_, dense_;
};

}  // namespace oriel::io::tiff
