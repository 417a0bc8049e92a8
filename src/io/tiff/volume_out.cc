#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "io/file_identity.h"
#include "io/temporary_name.h"
#include "io/tiff/geo.h"
#include "io/tiff/volume.h"
#include "io/tiff/volume_in.h"
#include "io/tiff/writer.h"
#include "io/unfinished.h"

namespace oriel::io {
namespace tiff {
namespace {

// How a tensor is divided into pages.
struct Pages {
  Extents outer;
  Layout page;
  std::string names;  // of the outer axes, as the input has them

  index_t count() const { return element_count(outer); }
};

Pages pages_of(const VolumeSpec& spec, bool all) {
  const Extents& shape = spec.shape;
  const int rank = shape.size();
  constexpr index_t most_of_picture = 4;
  const auto* const like = dynamic_cast<const TiffIn*>(spec.like);
  const bool same_axes = like != nullptr && like->shape.size() == rank;
  bool sampled = same_axes && like->layout().samples > 1;
  if (!all && rank == 3 && shape[2] >= 1 && shape[2] <= most_of_picture) sampled = true;
  const int inner = sampled ? 3 : 2;
  Pages pages;
  for (int d = 0; d < rank - inner; ++d) pages.outer.push_back(shape[d]);
  pages.page.dtype = spec.dtype;
  pages.page.rows = shape[rank - inner];
  pages.page.columns = shape[rank - inner + 1];
  pages.page.samples = sampled ? shape[rank - 1] : 1;
  if (same_axes) pages.names = like->axes().names;
  return pages;
}

// What an image takes over from that which it was made of: its resolution and colour profile, and where its pixels are.
struct FromInput {
  std::optional<Picture> picture;
  GeoTags geo;
};

FromInput from_input(const VolumeSpec& spec, const Pages& pages) {
  FromInput from;
  if (spec.like == nullptr) return from;
  if (pages.outer.empty()) from.picture = spec.like->picture;
  auto* const like = dynamic_cast<TiffIn*>(spec.like);
  if (like == nullptr) return from;
  const int rows = pages.outer.size();
  const std::optional<Scaling> y = scaling_of(spec.problem, rows), x = scaling_of(spec.problem, rows + 1);
  // Elsewhere the pixels may be anywhere.
  if (like->shape.size() == spec.shape.size() && x && y) from.geo = scaled(read_geo(like->first_page()), *x, *y);
  return from;
}

void set_tags(TIFF* t, const FromInput& from, const std::string& name) {
  constexpr double mm_per_cm = 10;
  if (from.picture && from.picture->pixels_per_mm_x > 0 && from.picture->pixels_per_mm_y > 0) {
    TIFFSetField(t, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
    TIFFSetField(t, TIFFTAG_XRESOLUTION, from.picture->pixels_per_mm_x * mm_per_cm);
    TIFFSetField(t, TIFFTAG_YRESOLUTION, from.picture->pixels_per_mm_y * mm_per_cm);
  }
  if (from.picture && !from.picture->icc_profile.empty())
    TIFFSetField(t, TIFFTAG_ICCPROFILE, static_cast<std::uint32_t>(from.picture->icc_profile.size()),
                 from.picture->icc_profile.data());
  write_geo(t, from.geo, name);
}

void write_pages(const std::string& place, const std::string& name, VolumeIn& values, const VolumeSpec& spec,
                 const Pages& pages) {
  const Layout& page = pages.page;
  Writer writer(place, name, {.rows = page.rows, .columns = page.columns, .samples = page.samples, .dtype = page.dtype},
                pages.count());
  const std::string description =
      pages.outer.empty() ? "" : describe_axes(pages.outer, pages.names, page, spec.problem);
  const int outer = pages.outer.size();
  const FromInput from = from_input(spec, pages);
  Extents begin = Extents::filled(spec.shape.size(), 0);
  for (index_t p = 0; p < pages.count(); ++p) {
    const auto more = [&](TIFF* t) {
      if (p == 0 && !description.empty()) TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, description.c_str());
      if (p == 0) set_tags(t, from, name);
    };
    writer.add_page(more, [&](index_t row, index_t column, const Tensor& to) {
      Extents shape = Extents::filled(outer, 1);
      for (int d = 0; d < spec.shape.size() - outer; ++d) shape.push_back(to.shape[d]);
      begin[outer] = row;
      begin[outer + 1] = column;
      values.read(begin, Tensor(to.data, to.dtype, shape));
    });
    for (int d = outer - 1; d >= 0 && ++begin[d] == pages.outer[d]; --d) begin[d] = 0;
  }
  writer.close();
}

}  // namespace
}  // namespace tiff

void check_tiff(const std::string& path, const VolumeSpec& spec) {
  if (spec.dtype == Dtype::boolean || spec.dtype == Dtype::bf16)
    throw Error(
        fmt::format("{}: TIFF holds integers and floats of 16, 32 and 64 bits, but the result is {}; allowed for "
                    "others: .npy, .npz, .zarr",
                    path, name(spec.dtype)));
  constexpr index_t most_side = std::numeric_limits<std::int32_t>::max();
  const int rank = spec.shape.size();
  if (rank < 2) throw Error(fmt::format("{}: a TIFF must have 2 or more axes, but the result has {}", path, rank));
  for (int d = 0; d < rank; ++d) {
    if (spec.shape[d] < 1 || spec.shape[d] > most_side)
      throw Error(fmt::format("{}: the result has the shape {}; allowed in a TIFF: sides from 1 to {}", path,
                              to_string(spec.shape), most_side));
  }
}

void complete_tiff(const std::string& place, const std::string& path, const VolumeSpec& spec, bool all) {
  const std::string made = temporary_name(follow_links(path));
  struct Made {
    explicit Made(const std::string& at) : file(at), watched(at) {}
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() { ::unlink(file.c_str()); }
    std::string file;
    WatchedFile watched;
  };
  const Made guard(made);
  {
    const auto values = open_npy_volume(place, spec.dtype);
    tiff::write_pages(made, path, *values, spec, tiff::pages_of(spec, all));
  }
  constexpr mode_t permissions = 07777;
  struct stat info {};
  if (::stat(place.c_str(), &info) != 0 || ::chmod(made.c_str(), info.st_mode & permissions) != 0 ||
      std::rename(made.c_str(), place.c_str()) != 0)
    throw Error(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

}  // namespace oriel::io
