#include "io/tiff/volume_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "byte_order.h"
#include "io/memory_bound.h"

namespace oriel::io::tiff {

std::vector<std::uint64_t> sub_directories(const File& file) {
  std::uint16_t count = 0;
  const std::uint64_t* places = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_SUBIFD, &count, &places) != 1 || places == nullptr) return {};
  return {places, places + count};
}

namespace {

constexpr std::uint32_t kNoDataTag = 42113;  // GDAL's

index_t ceil_of(index_t a, index_t b) { return (a + b - 1) / b; }

// Copies rows of pixels; elements of a row lie together in `from`, samples of a pixel too.
void copy_pixels(const std::byte* from, index_t from_samples, std::byte* to, index_t pixel, index_t sample,
                 index_t columns, index_t samples, index_t size) {
  if (sample == 1 && pixel == samples && from_samples == samples) {
    std::memcpy(to, from, static_cast<std::size_t>(columns * samples * size));
    return;
  }
  for (index_t x = 0; x < columns; ++x)
    for (index_t c = 0; c < samples; ++c)
      std::memcpy(to + (x * pixel + c * sample) * size, from + (x * from_samples + c) * size,
                  static_cast<std::size_t>(size));
}

// Places of the directories from the current one on. Of a volume reduced images and masks are no planes; OME-XML counts
// them as images, though.
std::vector<std::uint64_t> directories(File& file, bool of_volume) {
  constexpr std::uint32_t beside = FILETYPE_REDUCEDIMAGE | FILETYPE_MASK;
  const bool all = !of_volume || is_ome(file.text(TIFFTAG_IMAGEDESCRIPTION));
  std::vector<std::uint64_t> places;
  do {
    if (all || places.empty() || (file.field<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0) & beside) == 0)
      places.push_back(TIFFCurrentDirOffset(file.get()));
  } while (file.next());
  return places;
}

}  // namespace

// Those that each of `places` names as its SubIFD of this number.
std::vector<std::uint64_t> level_directories(File& file, const std::vector<std::uint64_t>& places, index_t level) {
  std::vector<std::uint64_t> found;
  for (const std::uint64_t place : places) {
    file.go_to(place);
    const std::vector<std::uint64_t> below = sub_directories(file);
    if (level > static_cast<index_t>(below.size()))
      file.refuse(fmt::format("image {} has {} SubIFDs, but {} are needed", found.size() + 1, below.size(), level));
    found.push_back(below[static_cast<std::size_t>(level - 1)]);
  }
  return found;
}

// Such a tile or strip is zeros.
bool is_left_out(const File& file, std::uint32_t piece, bool tiled) {
  TIFF* const t = file.get();
  if (TIFFGetStrileByteCount(t, piece) != 0 || TIFFGetStrileOffset(t, piece) != 0) return false;
  const char* no_data = nullptr;
  std::uint32_t count = 0;
  if (TIFFGetField(t, kNoDataTag, &count, &no_data) == 1)
    file.refuse(fmt::format("{} {} is left out, for which GDAL reads its nodata value; allowed: files with all of them",
                            tiled ? "tile" : "strip", piece));
  return true;
}

// The part of a plane that is asked for, and where it goes; pitches are in elements.
struct TiffIn::Rows {
  index_t row = 0, rows = 0, column = 0, columns = 0, sample = 0, samples = 0;
  std::byte* to = nullptr;
  index_t row_pitch = 0, column_pitch = 0, sample_pitch = 0;

  std::byte* at(index_t r, index_t c, index_t s, index_t size) const {
    return to + ((r - row) * row_pitch + (c - column) * column_pitch + (s - sample) * sample_pitch) * size;
  }
  void fill_with_zeros(index_t size) const {
    for (index_t r = 0; r < rows; ++r)
      for (index_t c = 0; c < columns; ++c)
        for (index_t s = 0; s < samples; ++s)
          std::memset(at(row + r, column + c, sample + s, size), 0, static_cast<std::size_t>(size));
  }
};

TiffIn::TiffIn(std::unique_ptr<File> file, index_t page, std::optional<Dtype> asked) : file_(std::move(file)) {
  places_ = directories(*file_, page == 0);
  if (page > 0) choose(page);
  open_page(0);
  layout_ = now_;
  if (page == 0) find_axes_of_pages();
  describe(asked);
}

void TiffIn::find_axes_of_pages() {
  bool same_tiles = true;
  const auto pages = static_cast<index_t>(places_.size());
  for (index_t p = 1; p < pages; ++p) {
    open_page(p);
    same_tiles = same_tiles && now_ == layout_;
  }
  open_page(0);
  axes_ = find_axes(file_->text(TIFFTAG_IMAGEDESCRIPTION), layout_, pages, file_->name());
  if (axes_.in_one_page) check_one_page();
  if (!same_tiles) layout_.tile_rows = 0;  // then there are no chunks
}

void TiffIn::choose(index_t page) {
  const auto count = static_cast<index_t>(places_.size());
  if (page > count)
    file_->refuse(fmt::format("has no image {}; allowed: {}", page,
                              count == 1 ? "1, the only one" : fmt::format("1 to {}", count)));
  places_ = {places_[static_cast<std::size_t>(page - 1)]};
  first_number_ = page;
  picture.emplace();
  picture->pages = static_cast<int>(count);
}

void TiffIn::choose_level(index_t level) {
  places_ = level_directories(*file_, places_, level);
  current_ = -1;
  layout_ = {};
  open_page(0);
  layout_ = now_;
  for (index_t p = 1; p < static_cast<index_t>(places_.size()); ++p) open_page(p);
  shape = order = chunk = {};
  describe(std::nullopt);
}

void TiffIn::open_page(index_t page) {
  if (page == current_) return;
  current_ = -1;
  file_->go_to(places_[static_cast<std::size_t>(page)]);
  now_ = read_layout(*file_, page + first_number_);
  current_ = page;
  if (layout_.rows > 0 && !now_.same_image(layout_))
    file_->refuse(
        fmt::format("image {} is {}x{} of {} samples of {}, but the first is {}x{} of {} samples of {}; "
                    "allowed: images of one size and type, or one of them, as in FILE.tif:1",
                    page + first_number_, now_.rows, now_.columns, now_.samples, name(now_.dtype), layout_.rows,
                    layout_.columns, layout_.samples, name(layout_.dtype)));
  shift_ = 0;
}

// Planes that have no directories of their own: the file must be long enough, and nothing compressed.
void TiffIn::check_one_page() const {
  const auto planes = axes_.planes();
  index_t bytes = 0;
  if (!now_.stored_raw || now_.tiled || now_.separate || __builtin_mul_overflow(planes, now_.plane_bytes(), &bytes))
    file_->refuse(fmt::format("the description says {} images, but there is one", planes));
  const std::uint64_t begin = TIFFGetStrileOffset(file_->get(), 0);
  const auto strips = static_cast<std::uint32_t>(ceil_of(now_.rows, now_.tile_rows));
  const index_t strip = now_.tile_bytes();
  for (std::uint32_t s = 0; s < strips; ++s)
    if (TIFFGetStrileOffset(file_->get(), s) != begin + s * static_cast<std::uint64_t>(strip))
      file_->refuse(fmt::format("the description says {} images, but there is one", planes));
  if (begin > static_cast<std::uint64_t>(file_->size()) || bytes > file_->size() - static_cast<index_t>(begin))
    file_->refuse(fmt::format("the TIFF is cut off: {} images need {} bytes from {} on, but there are {}", planes,
                              bytes, begin, file_->size()));
}

void TiffIn::describe(std::optional<Dtype> asked) {
  dtype = layout_.dtype;
  if (asked && *asked != dtype)
    file_->refuse(
        fmt::format("the image holds {}, but {} was requested; allowed: {}", name(dtype), name(*asked), name(dtype)));
  shape = axes_.sizes;
  const int outer = shape.size();
  shape.push_back(layout_.rows);
  shape.push_back(layout_.columns);
  if (layout_.samples > 1) shape.push_back(layout_.samples);
  for (int d = 0; d < shape.size(); ++d) order.push_back(d);
  // Rows that are stored as they are can be read alone.
  if (layout_.tile_rows == 0 || (layout_.stored_raw && !layout_.tiled)) return;
  chunk = Extents::filled(outer, 1);
  chunk.push_back(std::min(layout_.tile_rows, layout_.rows));
  chunk.push_back(std::min(layout_.tile_columns, layout_.columns));
  if (layout_.samples > 1) chunk.push_back(layout_.tile_samples());
}

const File& TiffIn::first_page() {
  open_page(0);
  return *file_;
}

void TiffIn::read(const Extents& begin, const Tensor& to) {
  if (element_count(to.shape) == 0) return;
  const int outer = axes_.sizes.size();
  Extents at = Extents::filled(outer, 0);
  Tensor plane = to;
  for (;;) {
    index_t number = 0, offset = 0;
    for (int d = 0; d < outer; ++d) {
      number = number * axes_.sizes[d] + begin[d] + at[d];
      offset += at[d] * to.pitch[d];
    }
    plane.data = static_cast<std::byte*>(to.data) + offset * size_bytes(dtype);
    read_plane(number, begin, plane);
    int d = outer - 1;
    for (; d >= 0 && ++at[d] == to.shape[d]; --d) at[d] = 0;
    if (d < 0) return;
  }
}

void TiffIn::read_plane(index_t plane, const Extents& begin, const Tensor& to) {
  const index_t page = axes_.in_one_page     ? 0
                       : axes_.pages.empty() ? plane
                                             : axes_.pages[static_cast<std::size_t>(plane)];
  open_page(page);
  shift_ = axes_.in_one_page ? plane * now_.plane_bytes() : 0;
  const int y = axes_.sizes.size(), x = y + 1, c = y + 2;
  const bool sampled = now_.samples > 1;
  const Rows box{.row = begin[y],
                 .rows = to.shape[y],
                 .column = begin[x],
                 .columns = to.shape[x],
                 .sample = sampled ? begin[c] : 0,
                 .samples = sampled ? to.shape[c] : 1,
                 .to = static_cast<std::byte*>(to.data),
                 .row_pitch = to.pitch[y],
                 .column_pitch = to.pitch[x],
                 .sample_pitch = sampled ? to.pitch[c] : 1};
  const index_t step = now_.tile_samples();
  for (index_t s = box.sample / step; s * step < box.sample + box.samples; ++s)
    for (index_t r = box.row / now_.tile_rows; r * now_.tile_rows < box.row + box.rows; ++r)
      for (index_t k = box.column / now_.tile_columns; k * now_.tile_columns < box.column + box.columns; ++k)
        read_piece(r, k, s, box);
}

// A tile or a strip, its place given in tiles, as far as the box has a part of it.
void TiffIn::read_piece(index_t row, index_t column, index_t sample, const Rows& box) {
  const index_t across = ceil_of(now_.columns, now_.tile_columns), down = ceil_of(now_.rows, now_.tile_rows);
  const index_t number = (sample * down + row) * across + column;
  const index_t step = now_.tile_samples(), size = size_bytes(dtype);
  Rows some = box;
  some.row = std::max(box.row, row * now_.tile_rows);
  some.rows = std::min(box.row + box.rows, (row + 1) * now_.tile_rows) - some.row;
  some.column = std::max(box.column, column * now_.tile_columns);
  some.columns = std::min(box.column + box.columns, (column + 1) * now_.tile_columns) - some.column;
  some.sample = std::max(box.sample, sample * step);
  some.samples = std::min(box.sample + box.samples, (sample + 1) * step) - some.sample;
  some.to = box.at(some.row, some.column, some.sample, size);
  const auto piece = static_cast<std::uint32_t>(number);
  if (is_left_out(*file_, piece, now_.tiled)) return some.fill_with_zeros(size);
  if (now_.stored_raw)
    return read_stored(piece, some.row - row * now_.tile_rows, some.column - column * now_.tile_columns,
                       some.sample - sample * step, some);
  const std::byte* const tile = decoded(piece, row);
  for (index_t r = 0; r < some.rows; ++r) {
    const index_t in_tile =
        ((some.row - row * now_.tile_rows + r) * now_.tile_columns + some.column - column * now_.tile_columns) * step +
        some.sample - sample * step;
    copy_pixels(tile + in_tile * size, step, some.at(some.row + r, some.column, some.sample, size), some.column_pitch,
                some.sample_pitch, some.columns, some.samples, size);
  }
}

// The samples of a tile or strip.
const std::byte* TiffIn::decoded(std::uint32_t piece, index_t row) {
  buffer_.resize(static_cast<std::size_t>(now_.tile_bytes()));
  TIFF* const t = file_->get();
  file_->forget_errors();
  const index_t rows = now_.tiled ? now_.tile_rows : std::min(now_.tile_rows, now_.rows - row * now_.tile_rows);
  const index_t bytes = now_.tile_bytes() / now_.tile_rows * rows;
  const tmsize_t got = now_.tiled ? TIFFReadEncodedTile(t, piece, buffer_.data(), bytes)
                                  : TIFFReadEncodedStrip(t, piece, buffer_.data(), bytes);
  if (got != bytes)
    file_->fail(fmt::format("{} {} has {} bytes instead of {}", now_.tiled ? "tile" : "strip", piece, got, bytes));
  return buffer_.data();
}

// Rows that lie in the file as they do in memory; they begin at this row, column and sample of the piece.
void TiffIn::read_stored(std::uint32_t piece, index_t row, index_t column, index_t sample, const Rows& box) {
  const index_t size = size_bytes(dtype), step = now_.tile_samples(), pitch = now_.tile_columns * step;
  const std::uint64_t begin = TIFFGetStrileOffset(file_->get(), piece);
  const std::uint64_t bytes = TIFFGetStrileByteCount(file_->get(), piece);
  const auto needed = static_cast<std::uint64_t>((row + box.rows - 1) * pitch + (column + box.columns) * step) *
                      static_cast<std::uint64_t>(size);
  const auto end = static_cast<std::uint64_t>(file_->size());
  if (begin > end || bytes < needed || needed > end - begin)
    file_->refuse(fmt::format("the TIFF is damaged: {} {} has {} bytes at {}, but {} are needed",
                              now_.tiled ? "tile" : "strip", piece, bytes, begin, needed));
  const index_t first = static_cast<index_t>(begin) + shift_ + (row * pitch + column * step) * size;
  const bool all = box.columns == now_.tile_columns && box.samples == step && step == now_.samples &&
                   box.sample_pitch == 1 && box.column_pitch == step && box.row_pitch == pitch;
  if (all) {
    file_->read_raw(box.to, box.rows * pitch * size, first);
    if (now_.swapped) detail::reverse_bytes(box.to, box.rows * pitch, size);
    return;
  }
  buffer_.resize(static_cast<std::size_t>(box.columns * step * size));
  for (index_t r = 0; r < box.rows; ++r) {
    file_->read_raw(buffer_.data(), box.columns * step * size, first + r * pitch * size);
    if (now_.swapped) detail::reverse_bytes(buffer_.data(), box.columns * step, size);
    copy_pixels(buffer_.data() + sample * size, step, box.at(box.row + r, box.column, box.sample, size),
                box.column_pitch, box.sample_pitch, box.columns, box.samples, size);
  }
}

}  // namespace oriel::io::tiff
