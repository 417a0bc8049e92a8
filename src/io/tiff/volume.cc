#include "io/tiff/volume.h"

#include <sys/stat.h>

#include <algorithm>

#include "io/files.h"
#include "io/tiff/geo.h"
#include "io/tiff/volume_in.h"

namespace oriel::io {
namespace {

using tiff::File;
using tiff::TiffIn;

bool is_tiff_name(std::string path) {
  for (char& c : path)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return path.ends_with(".tif") || path.ends_with(".tiff");
}

bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

std::unique_ptr<File> open_file(const std::string& path) {
  return std::make_unique<File>(tiff::file_source(path), path);
}

// Whether the samples are what a picture has: no palette, no colours to compute, nothing to turn.
bool is_stored_upright(const File& file) {
  const auto photometric = file.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  const auto compression = file.field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  return (photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_RGB) && compression != COMPRESSION_JPEG &&
         compression != COMPRESSION_OJPEG &&
         file.field<std::uint16_t>(TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT) == ORIENTATION_TOPLEFT;
}

bool is_picture_dtype(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::u16; }

// What `is` says of the first image of a file; false if there is none, and who reads it says why.
template <class Is>
bool first_image(const std::string& path, const Is& is) {
  if (!is_tiff_image(path)) return false;
  struct stat info {};
  const InputPath in = split_input_path(path);
  if (::stat(in.file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  try {
    return is(File(tiff::file_source(in.file), in.file));
  } catch (const Error&) {
    return false;
  }
}

// As libvips has them.
void add_picture(TiffIn& in, int page) {
  constexpr float mm_per_inch = 25.4F, mm_per_cm = 10;
  const File& file = in.first_page();
  Picture& picture = *in.picture;
  picture.page = page;
  picture.pixels_per_mm_x = picture.pixels_per_mm_y = 1;
  float x = 0, y = 0;
  std::uint16_t unit = RESUNIT_INCH;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_RESOLUTIONUNIT, &unit);
  if (TIFFGetField(file.get(), TIFFTAG_XRESOLUTION, &x) == 1 &&
      TIFFGetField(file.get(), TIFFTAG_YRESOLUTION, &y) == 1) {
    const float mm = unit == RESUNIT_INCH ? mm_per_inch : unit == RESUNIT_CENTIMETER ? mm_per_cm : 1;
    picture.pixels_per_mm_x = static_cast<double>(x / mm);
    picture.pixels_per_mm_y = static_cast<double>(y / mm);
  }
  std::uint32_t size = 0;
  const void* profile = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_ICCPROFILE, &size, &profile) == 1 && profile != nullptr) {
    const auto* const begin = static_cast<const std::byte*>(profile);
    picture.icc_profile.assign(begin, begin + size);
  }
}

}  // namespace

bool is_tiff_volume(const std::string& path) {
  return path.ends_with(kAllPages) && is_tiff_name(path.substr(0, path.size() - kAllPages.size())) && !is_there(path);
}

bool is_tiff_image(const std::string& path) {
  if (is_tiff_name(path)) return true;
  const std::size_t colon = path.rfind(':');
  if (colon == std::string::npos || !is_tiff_name(path.substr(0, colon))) return false;
  const bool number = std::all_of(path.begin() + static_cast<std::ptrdiff_t>(colon) + 1, path.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  return number && colon + 1 < path.size() && !is_there(path);
}

bool is_tiff_without_picture(const std::string& path) {
  return first_image(path, [](const File& file) {
    const std::optional<Dtype> dtype = tiff::sample_dtype(file);
    return dtype && !is_picture_dtype(*dtype);
  });
}

bool is_geotiff(const std::string& path) {
  return first_image(path, [](const File& file) { return tiff::read_geo(file).placed(); });
}

std::unique_ptr<VolumeIn> open_tiff_volume(const std::string& path, std::optional<Dtype> asked) {
  return std::make_unique<TiffIn>(open_file(path.substr(0, path.size() - kAllPages.size())), 0, asked);
}

std::unique_ptr<VolumeIn> open_tiff_image(const std::string& path, std::optional<Dtype> asked) {
  const InputPath from = split_input_path(path);
  const int page = from.page.value_or(0);
  std::unique_ptr<File> file = open_file(from.file);
  const std::optional<Dtype> dtype = tiff::sample_dtype(*file);
  const bool whole = !dtype || (is_picture_dtype(*dtype) && page <= 1 && !is_stored_upright(*file));
  if (whole) return volume_of(read_array(path, asked));
  auto in = std::make_unique<TiffIn>(std::move(file), std::max(page, 1), asked);
  if (is_picture_dtype(in->dtype) && !is_stored_upright(in->first_page())) return volume_of(read_array(path, asked));
  add_picture(*in, page);
  return in;
}

}  // namespace oriel::io
