// Images of a TIFF that are being read.
#pragma once

#include <vector>

#include "io/tiff/axes.h"
#include "io/volume.h"

namespace oriel::io::tiff {

/// Places of the directories that the current one names as SubIFDs.
std::vector<std::uint64_t> sub_directories(const File& file);

/// All images, or the one that is named. Throws Error.
class TiffIn : public VolumeIn {
 public:
  /// `page` counts from 1; 0: all.
  TiffIn(std::unique_ptr<File> file, index_t page, std::optional<Dtype> asked);
  void read(const Extents& begin, const Tensor& to) override;

  /// Of all images, their SubIFDs of this number, counted from 1, instead. Throws Error if one has none.
  void choose_level(index_t level);

  const Axes& axes() const { return axes_; }
  const Layout& layout() const { return layout_; }
  /// Its first directory is the current one.
  const File& first_page();

 private:
  struct Rows;

  void choose(index_t page);
  void find_axes_of_pages();
  void check_one_page() const;
  void describe(std::optional<Dtype> asked);
  void open_page(index_t page);
  void read_plane(index_t plane, const Extents& begin, const Tensor& to);
  void read_piece(index_t row, index_t column, index_t sample, const Rows& box);
  const std::byte* decoded(std::uint32_t piece, index_t row);
  void read_stored(std::uint32_t piece, index_t row, index_t column, index_t sample, const Rows& box);

  std::unique_ptr<File> file_;
  std::vector<std::uint64_t> places_;  // of directories
  index_t first_number_ = 1;           // of the first page, as errors count
  index_t current_ = -1;               // which of them is the current one
  Layout layout_;                      // of the first page
  Layout now_;                         // of the current one, which may have other tiles
  Axes axes_;
  index_t shift_ = 0;  // bytes from the page's data to the current plane, if all planes are in one page
  std::vector<std::byte> buffer_;
};

}  // namespace oriel::io::tiff
