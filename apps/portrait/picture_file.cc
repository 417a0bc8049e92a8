#include "apps/portrait/picture_file.h"

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

// By its first bytes. What is none goes to no decoder: libvips has some for many more formats.
bool is_picture(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  using namespace std::string_view_literals;
  for (const std::string_view mark : {"\x89PNG\r\n\x1a\n"sv, "\xff\xd8"sv, "II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    if (all.starts_with(mark)) return true;
  return all.starts_with("RIFF") && all.substr(std::min<std::size_t>(8, all.size())).starts_with("WEBP");
}

}  // namespace

PictureFile decode_picture(std::span<const std::byte> bytes, const std::string& file, index_t most_pixels) {
  if (!is_picture(bytes))
    throw Error(fmt::format("{}: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP", file));
  const io::Array array = io::read_image(bytes, file, std::nullopt, most_pixels);
  const index_t height = array.view.shape[0], width = array.view.shape[1];
  const index_t channels = array.view.rank() == 3 ? array.view.shape[2] : 1;
  if (channels > 4) throw Error(fmt::format("{}: the picture has {} channels; allowed: 1 to 4", file, channels));
  PictureFile picture{
      .image = Image(height, width, 3), .opacity = {}, .meta = array.picture.value_or(io::Picture{}), .notes = {}};
  if (array.view.dtype == Dtype::u16) picture.notes.emplace_back("16 bits a sample became 8");
  if (picture.meta.pages > 1)
    picture.notes.push_back(fmt::format("the first of {} pictures in the file was taken", picture.meta.pages));
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

PictureFile read_picture(const std::string& path, index_t most_pixels) {
  if (path == "-") {
    const std::vector<std::byte> bytes = io::read_all(io::read_descriptor(STDIN_FILENO, "standard input"));
    return decode_picture(bytes, "standard input", most_pixels);
  }
  if (!io::is_regular(path)) return decode_picture(io::read_all(io::open_stream(path)), path, most_pixels);
  return decode_picture(io::map_file(path).bytes, path, most_pixels);
}

std::string picture_ending(const std::string& path, const std::string& format, index_t channels) {
  std::string ending = !format.empty() ? "." + format
                       : path == "-"   ? ".png"
                                       : std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const bool jpeg = ending == ".jpg" || ending == ".jpeg";
  if (!jpeg && ending != ".png" && ending != ".webp" && ending != ".tif" && ending != ".tiff")
    throw Error(fmt::format(
        "{}: {}; allowed: .png, .jpg, .webp, .tif", path,
        ending.empty() ? "the name has no ending" : fmt::format("{} is no picture's ending", detail::quoted(ending))));
  if (jpeg && channels == 4)
    throw Error(
        fmt::format("{}: JPEG holds no transparency; allowed: .png, .webp, .tif, or another --background", path));
  return ending;
}

std::vector<std::byte> encode_picture(const Image& image, const std::string& ending, const std::string& file,
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
