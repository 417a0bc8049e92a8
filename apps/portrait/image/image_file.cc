#include "apps/portrait/image/image_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "io/image.h"
#include "io/input_file.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

// 16 bits to 8, rounded; 8 as they are.
std::vector<std::uint8_t> bytes_of(const ConstTensor& t) {
  const auto count = static_cast<std::size_t>(element_count(t.shape));
  if (t.dtype == Dtype::u8) {
    const auto* const from = static_cast<const std::uint8_t*>(t.data);
    return {from, from + count};
  }
  const auto* const from = static_cast<const std::uint16_t*>(t.data);
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>((from[i] * 255U + 32767U) / 65535U);
  return bytes;
}

// By its first bytes. Other files are not passed to a decoder: libvips has some for many more formats.
void check_image(std::span<const std::byte> bytes, const std::string& file) {
  if (!io::is_image(bytes))
    throw Error(fmt::format("{}: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP", file));
}

std::vector<std::byte> read_stream(const io::ReadBytes& stream, const std::string& file) {
  std::vector<std::byte> head = io::read_head(stream);
  check_image(head, file);
  return io::read_all(io::put_back(std::move(head), stream), file);
}

}  // namespace

ImageFile decode_image(std::span<const std::byte> bytes, const std::string& file, index_t most_pixels,
                       const io::InputPath& place) {
  check_image(bytes, file);
  const io::Array array = io::read_image(bytes, file, {.most_pixels = most_pixels, .page = place.page});
  const index_t height = array.view.shape[0], width = array.view.shape[1];
  const index_t channels = array.view.rank() == 3 ? array.view.shape[2] : 1;
  if (channels > 4) throw Error(fmt::format("{}: the image has {} channels; allowed: 1 to 4", file, channels));
  ImageFile picture{.image = Image(height, width, 3),
                    .opacity = {},
                    .meta = array.picture.value_or(io::Picture{}),
                    .first_of_several = false,
                    .notes = {}};
  if (array.view.dtype == Dtype::u16) picture.notes.emplace_back("converted from 16 to 8 bits per sample");
  const std::string pages = io::pages_note(picture.meta, place.file);
  picture.first_of_several = !pages.empty();
  if (!pages.empty()) picture.notes.push_back(pages);
  if (channels < 3) picture.meta.icc_profile.clear();  // a profile of greys does not fit a picture in colours
  const std::vector<std::uint8_t> samples = bytes_of(array.view);
  const bool grey = channels < 3, see_through = channels % 2 == 0;
  if (see_through) picture.opacity = Planes(1, height, width, 1);
  for (index_t i = 0; i < height * width; ++i) {
    const std::uint8_t* const from = samples.data() + i * channels;
    std::uint8_t* const to = picture.image.bytes.data() + 3 * i;
    for (index_t c = 0; c < 3; ++c) to[c] = from[grey ? 0 : c];
    if (see_through) picture.opacity.values[static_cast<std::size_t>(i)] = static_cast<float>(from[channels - 1]) / 255;
  }
  return picture;
}

ImageFile read_image_file(const std::string& path, index_t most_pixels) {
  if (path == "-") {
    const io::ReadBytes stream = io::read_descriptor(STDIN_FILENO, "standard input");
    return decode_image(read_stream(stream, "standard input"), "standard input", most_pixels);
  }
  io::InputPath from = io::split_input_path(path);
  if (!from.page) from.file = path;  // arrays of archives are no pictures
  const std::string& file = from.file;
  if (!io::is_regular(file)) return decode_image(read_stream(io::open_stream(file), file), file, most_pixels, from);
  return decode_image(io::map_file(file).bytes, file, most_pixels, from);
}

std::string image_ending(const std::string& path, const std::string& format, index_t channels) {
  std::string ending = !format.empty() ? "." + format
                       : path == "-"   ? ".png"
                                       : std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const bool jpeg = ending == ".jpg" || ending == ".jpeg";
  if (!jpeg && ending != ".png" && ending != ".webp" && ending != ".tif" && ending != ".tiff")
    throw Error(fmt::format("{}: {}; allowed: .png, .jpg, .webp, .tif", path,
                            ending.empty() ? "the name has no extension"
                                           : fmt::format("{} is not an image extension", detail::quoted(ending))));
  if (jpeg && channels == 4)
    throw Error(
        fmt::format("{}: JPEG holds no transparency; allowed: .png, .webp, .tif, or another --background", path));
  return ending;
}

std::vector<std::byte> encode_image(const Image& image, const std::string& ending, const std::string& file,
                                    const std::optional<io::Picture>& meta) {
  std::vector<std::byte> bytes;
  const io::WriteBytes write = [&](const void* from, std::size_t count) {
    const auto* const at = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), at, at + count);
  };
  std::optional<io::Picture> kept = meta;
  if (kept && image.channels == 1) kept->icc_profile.clear();
  const ConstTensor grey(image.bytes.data(), {image.height, image.width});
  io::write_image(write, ending, file, image.channels == 1 ? grey : image.view(), kept);
  return bytes;
}

}  // namespace oriel::portrait
